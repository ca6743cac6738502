/* SPDX-License-Identifier: MIT
** Measures rates and keeps them; see machine_rates.h. */
#include "rates_file.h"

#include "blas_library.h"
#include "cache_folder.h"
#include "machine_speed.h"
#include "publish.h"
#include "work_folder.h"

#include <limits.h>
#include <string.h>

static int rates_keep(const Rates *r, const ProductRatios *products, const char *path, Error *e) {
    Text t = { 0 };
    Rates copy = *r;
    text_add(&t, "{\"threads\": %d", r->threads);
    for (int i = 0; i < RATES_MEMBERS; i++) {
        text_add(&t, ", \"%s\": ", rates_member[i].key);
        text_json_number(&t, *rates_rate(&copy, i));
    }
    products_write(&t, products);
    text_add(&t, "}\n");
    char folder[PATH_MAX];
    print_text(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    int status = text_status(&t, e);
    if (!status) status = cache_make_folders(folder, e);
    if (!status) status = publish_own(path, &t, e);
    text_free(&t);
    return status;
}

/* == Measuring ============================================================ */

/* Products only where there is an OpenBLAS to compare with. */
static int measure_all(const char *folder, Allowance *a, Rates *out, ProductRatios *products,
                       Error *e) {
    BlasLibrary library;
    int status = machine_speed(folder, a, out, e);
    out->threads = rates_processors();
    out->measured = !status;
    *products = (ProductRatios){ 0 };
    blas_find(&library);
    if (status || !*library.path) return status;
    return machine_products_measure(a, folder, products, e);
}

int machine_rates_measure(Allowance *a, Rates *out, ProductRatios *products, char *path,
                          size_t size, Error *e) {
    WorkFolder w;
    int status = rates_path(path, size, e);
    if (!status) status = work_folder_open(&w, a, e);
    if (status) return status;
    status = measure_all(w.path, a, out, products, e);
    work_folder_close(&w, a);
    return status ? status : rates_keep(out, products, path, e);
}
