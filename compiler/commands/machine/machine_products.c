/* SPDX-License-Identifier: MIT
** See machine_products.h.  A product is timed at its place in a training step, between row kernels
** and beside other threads.  The timed models are made of MLPs that contain a product of each
** size.
*/
#include "machine_products.h"
#include "product_table.h"

#include "machine_timed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PRODUCT_ROUNDS = 2 };

/* == Measuring ============================================================ */

/* Seconds of each, the least so far; 0: none yet. */
typedef struct ProductTimes {
    ProductTable generated, openblas;
} ProductTimes;

static int size_of(int64_t n) {
    for (int i = 0; i < PRODUCT_SIZES; i++)
        if (n == (int64_t)PRODUCT_SMALLEST << i) return i;
    return -1;
}

static void keep_least(double *to, const Json *j, const JsonNode *kernel, const char *key) {
    const JsonNode *n = json_member(j, kernel, key);
    double seconds;
    if (n && json_double(n, &seconds) && seconds > 0 && !(*to > 0 && *to <= seconds)) *to = seconds;
}

/* A product of two of the sizes; the head's has a size of its own. */
static void take_kernel(ProductTimes *t, const Json *j, const JsonNode *kernel) {
    const JsonNode *operation = json_member(j, kernel, "operation"),
                   *size = json_member(j, kernel, "size");
    int64_t rows, columns;
    if (!operation || operation->type != JSON_STRING || !size || size->type != JSON_ARRAY
        || size->count != 2)
        return;
    const JsonNode *first = json_first(j, size);
    if (!json_int64(first, &rows) || !json_int64(json_next(j, first), &columns)) return;
    int i = size_of(rows), k = size_of(columns);
    for (int o = 0; i >= 0 && k >= 0 && o < ORIENTATIONS; o++) {
        if (strcmp(operation->text, product_orientation[o].operation) != 0) continue;
        keep_least(&t->generated[o][i][k], j, kernel, "seconds_generated");
        keep_least(&t->openblas[o][i][k], j, kernel, "seconds_openblas");
    }
}

static int take_kernels(const Json *j, void *to, Error *e) {
    (void)e;
    const JsonNode *list = json_member(j, j->node, "kernels");
    for (const JsonNode *n = list ? json_first(j, list) : NULL; n; n = json_next(j, n))
        take_kernel(to, j, n);
    return STATUS_OK;
}

/* A model of this width, with an MLP of each hidden size that is not less: with all of them, every
** pair of sizes is there both ways round. The head's size is none of them; every thread has a
** task. */
static void write_spec(Text *t, int width) {
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    text_add(t,
             "return model { name = \"timed\", vocab = 100, context = 512, dim = %d,\n"
             "  norm = rmsnorm {}, layers = {\n",
             PRODUCT_SMALLEST << width);
    for (int hidden = width; hidden < PRODUCT_SIZES; hidden++)
        text_add(t, "    layer { mlp { hidden = %d, activation = \"relu\" } },\n",
                 PRODUCT_SMALLEST << hidden);
    text_add(t, "  }, train = { optimizer = adamw { lr = 1e-3 }, batch = %ld, seed = 1 } }\n",
             threads > 3 ? threads / 2 : 1L);
}

int machine_products_measure(Allowance *a, const char *folder, ProductRatios *out, Error *e) {
    ProductTimes t = { 0 };
    int status = STATUS_OK;
    for (int width = 0; !status && width < PRODUCT_SIZES; width++) {
        Text spec = { 0 };
        const TimedModel m = { folder, &spec, MULTIPLY_OPENBLAS, 1, PRODUCT_ROUNDS, NULL };
        write_spec(&spec, width);
        status = machine_timed(a, &m, take_kernels, &t, e);
    }
    *out = (ProductRatios){ .measured = !status };
    for (int i = 0; !status && i < ALL_PRODUCTS; i++) {
        double generated = *products_entry(t.generated, i),
               openblas = *products_entry(t.openblas, i);
        if (!(generated > 0 && openblas > 0))
            return error_set(
                e, STATUS_INTERNAL,
                "strata doctor: expected bench --json to tell times of products of all "
                "sizes, found none of some");
        *products_entry(out->of, i) = openblas / generated;
    }
    return status;
}
