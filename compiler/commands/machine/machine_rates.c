/* SPDX-License-Identifier: MIT
** See machine_rates.h: what is saved, and where.
*/
#include "machine_rates.h"

#include "blas_library.h"
#include "cache_folder.h"
#include "codegen.h"
#include "files.h"
#include "machine_speed.h"
#include "publish.h"
#include "work_folder.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RATES_VALUES = 1 << 16 };

static const struct {
    const char *key;
    size_t at;
    bool none; /* it may be 0 */
} rates_member[] = {
    { "products_per_second", offsetof(Rates, products), false },
    { "sequences_per_second", offsetof(Rates, sequences), false },
    { "rows_per_second", offsetof(Rates, rows), false },
    { "functions_per_second", offsetof(Rates, functions), false },
    { "bytes_per_second", offsetof(Rates, memory), false },
    { "waiting", offsetof(Rates, waiting), true },
};
enum { RATES_MEMBERS = sizeof rates_member / sizeof *rates_member };

static double *rates_rate(Rates *r, int i) {
    return (double *)(void *)((char *)r + rates_member[i].at);
}

static int processors(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* == What is kept ========================================================= */

static int rates_path(char *path, size_t size, Error *e) {
    const char *cpu = codegen_native();
    char *cache;
    int status = cache_path("doctor", &cache, e);
    if (status) return status;
    int n = snprintf(path, size, "%s/rates-%s-%d.json", cache, cpu ? cpu : "none", processors());
    free(cache);
    return n > 0 && (size_t)n < size
        ? STATUS_OK
        : error_set(e, STATUS_USER, "strata doctor: expected the cache's path to be shorter");
}

static bool take_rates(const Json *j, Rates *to) {
    Rates r = { .threads = processors(), .measured = true };
    for (int i = 0; i < RATES_MEMBERS; i++) {
        const JsonNode *n = json_member(j, j->node, rates_member[i].key);
        double *to_member = rates_rate(&r, i);
        if (!n || !json_double(n, to_member)) return false;
        if (!(*to_member > 0 || (rates_member[i].none && *to_member == 0))) return false;
    }
    *to = r;
    return true;
}

/* What is kept; false: nothing that is JSON. */
static bool read_kept(Json *j) {
    char path[PATH_MAX], text[1 << 14];
    Error ignored = { 0 };
    Input in;
    *j = (Json){ 0 };
    if (rates_path(path, sizeof path, &ignored) || access(path, R_OK)
        || input_open(&in, path, &ignored))
        return false;
    size_t n = in.before.st_size < (off_t)sizeof text ? (size_t)in.before.st_size : 0;
    bool good = n && !input_read(&in, 0, text, n, &ignored)
        && !json_parse(j, path, text, n, RATES_VALUES, &ignored);
    input_close(&in);
    return good;
}

Rates machine_rates(void) {
    Rates r = { .threads = processors() };
    Json j;
    if (read_kept(&j)) take_rates(&j, &r);
    json_free(&j);
    return r;
}

ProductRatios machine_products(void) {
    ProductRatios r = { 0 };
    Json j;
    if (read_kept(&j)) r = products_read(&j);
    json_free(&j);
    return r;
}

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
    out->threads = processors();
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
