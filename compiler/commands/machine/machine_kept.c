/* SPDX-License-Identifier: MIT
** What is kept of measured products; see machine_products.h. */
#include "product_table.h"

const ProductKey product_orientation[ORIENTATIONS] = {
    [PRODUCT_FORWARD] = { "forward", "linear" },
    [PRODUCT_BACK] = { "back", "linear_back" },
    [PRODUCT_WEIGHT] = { "weight", "linear_weight" },
};

double *products_entry(ProductTable t, int i) {
    return &t[i / PRODUCT_SIZES / PRODUCT_SIZES][i / PRODUCT_SIZES % PRODUCT_SIZES]
             [i % PRODUCT_SIZES];
}

void products_write(Text *t, const ProductRatios *r) {
    if (!r->measured) return;
    text_add(t, ", \"openblas_time\": {");
    for (int o = 0; o < ORIENTATIONS; o++) {
        text_add(t, "%s\"%s\": [", o ? ", " : "", product_orientation[o].key);
        for (int i = 0; i < PRODUCT_SIZES * PRODUCT_SIZES; i++) {
            if (i) text_add(t, ", ");
            text_json_number(t, r->of[o][i / PRODUCT_SIZES][i % PRODUCT_SIZES]);
        }
        text_add(t, "]");
    }
    text_add(t, "}");
}

static bool read_orientation(const Json *j, const JsonNode *list, ProductTable to, int first) {
    if (!list || list->type != JSON_ARRAY || list->count != PRODUCT_SIZES * PRODUCT_SIZES)
        return false;
    for (const JsonNode *n = json_first(j, list); n; n = json_next(j, n), first++)
        if (!json_double(n, products_entry(to, first)) || !(*products_entry(to, first) > 0))
            return false;
    return true;
}

ProductRatios products_read(const Json *j) {
    ProductRatios r = { 0 };
    const JsonNode *all = json_member(j, j->node, "openblas_time");
    r.measured = all != NULL;
    for (int o = 0; o < ORIENTATIONS && r.measured; o++)
        r.measured = read_orientation(j, json_member(j, all, product_orientation[o].key), r.of,
                                      o * PRODUCT_SIZES * PRODUCT_SIZES);
    return r;
}

void products_tell(char *to, size_t size, const ProductRatios *r) {
    ProductRatios all = *r;
    int faster = 0;
    double least = 0, most = 0;
    for (int i = 0; i < ALL_PRODUCTS; i++) {
        double ratio = *products_entry(all.of, i);
        faster += ratio < 1;
        if (!i || ratio < least) least = ratio;
        if (!i || ratio > most) most = ratio;
    }
    print_text(to, size,
               "OpenBLAS is faster in %d of %d; it takes %.2f to %.2f of generated ones' time",
               faster, (int)ALL_PRODUCTS, least, most);
}
