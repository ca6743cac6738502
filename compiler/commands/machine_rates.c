/* SPDX-License-Identifier: MIT
** See machine_rates.h.  The model that is timed is a plain one: a product's rate is that of all its
** products together, memory's that of its row kernels, which is what these get of caches and
** memory; what a row kernel computes is taken to keep half of the vector unit busy.
*/
#include "machine_rates.h"

#include "blas_library.h"
#include "cache_folder.h"
#include "codegen.h"
#include "files.h"
#include "machine_timed.h"
#include "publish.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RATES_VALUES = 1 << 16, ROUNDS = 5 };

static const char timed_model[] =
    "return model { name = \"timed\", vocab = 256, context = 512, dim = 256,\n"
    "  norm = rmsnorm { eps = 1e-6 }, residual = standard {},\n"
    "  layers = times(4, layer { attention { heads = 8, rope = { theta = 10000 } },\n"
    "    mlp { hidden = 1024, activation = \"swiglu\" } }),\n"
    "  train = { optimizer = adamw { lr = 1e-3 }, batch = 2, seed = 1 } }\n";

static const struct {
    const char *key;
    size_t at;
} member[] = {
    { "products_per_second", offsetof(Rates, products) },
    { "sequences_per_second", offsetof(Rates, sequences) },
    { "row_operations_per_second", offsetof(Rates, rows) },
    { "bytes_per_second", offsetof(Rates, memory) },
};
enum { RATES_MEMBERS = sizeof member / sizeof *member };

static double *rate(Rates *r, int i) { return (double *)(void *)((char *)r + member[i].at); }

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
        const JsonNode *n = json_member(j, j->node, member[i].key);
        if (!n || !json_double(n, rate(&r, i)) || !(*rate(&r, i) > 0)) return false;
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

static int keep(const Rates *r, const ProductRatios *products, const char *path, Error *e) {
    Text t = { 0 };
    Rates copy = *r;
    text_add(&t, "{\"threads\": %d", r->threads);
    for (int i = 0; i < RATES_MEMBERS; i++) {
        text_add(&t, ", \"%s\": ", member[i].key);
        text_json_number(&t, *rate(&copy, i));
    }
    products_write(&t, products);
    text_add(&t, "}\n");
    char folder[PATH_MAX];
    print_text(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    int status = text_status(&t, e);
    if (!status) status = cache_make_folders(folder, e);
    if (!status) status = publish_text(path, &t, e);
    text_free(&t);
    return status;
}

/* == Measuring ============================================================ */

typedef struct Sum {
    double seconds, flops, bytes;
} Sum;

static double told(const Json *j, const JsonNode *n, const char *key) {
    const JsonNode *value = json_member(j, n, key);
    double x;
    return value && json_double(value, &x) ? x : 0;
}

/* Of the kernels of a family. */
static Sum sum_of(const Json *j, const char *family) {
    Sum s = { 0 };
    const JsonNode *list = json_member(j, j->node, "kernels");
    for (const JsonNode *n = list ? json_first(j, list) : NULL; n; n = json_next(j, n)) {
        const JsonNode *name = json_member(j, n, "family");
        double seconds = told(j, n, "seconds");
        if (!name || name->type != JSON_STRING || strcmp(name->text, family)) continue;
        s.seconds += seconds;
        s.flops += 1e9 * told(j, n, "gflops") * seconds;
        s.bytes += 1e9 * told(j, n, "gbytes_per_second") * seconds;
    }
    return s;
}

/* The best of what was told before and of this: what else the machine does only takes away. */
static int rates_told(const Json *j, void *to, Error *e) {
    Rates *r = to;
    Sum products = sum_of(j, "product"), sequences = sum_of(j, "sequence"), rows = sum_of(j, "row");
    double peak = 1e9 * told(j, j->node, "peak_gflops");
    if (!(products.seconds > 0 && sequences.seconds > 0 && rows.seconds > 0 && peak > 0))
        return error_set(
            e, STATUS_INTERNAL,
            "strata doctor: expected bench --json to tell times of kernels, found none");
    *r = (Rates){ .products = fmax(r->products, products.flops / products.seconds),
                  .sequences = fmax(r->sequences, sequences.flops / sequences.seconds),
                  .rows = fmax(r->rows, 0.25 * peak), /* a multiply-add is two FLOPs */
                  .memory = fmax(r->memory, rows.bytes / rows.seconds),
                  .threads = processors(),
                  .measured = true };
    return STATUS_OK;
}

static int measure_in(const char *folder, Allowance *a, Rates *r, Error *e) {
    Text spec = { 0 };
    const TimedModel m = { folder, &spec, MULTIPLY_GENERATED, 3, ROUNDS };
    text_add(&spec, "%s", timed_model);
    *r = (Rates){ 0 };
    return machine_timed(a, &m, rates_told, r, e);
}

/* Products only where there is an OpenBLAS to compare with. */
static int measure_all(const char *folder, Allowance *a, Rates *out, ProductRatios *products,
                       Error *e) {
    BlasLibrary library;
    int status = measure_in(folder, a, out, e);
    *products = (ProductRatios){ 0 };
    blas_find(&library);
    if (status || !*library.path) return status;
    return machine_products_measure(a, folder, products, e);
}

int machine_rates_measure(Allowance *a, Rates *out, ProductRatios *products, char *path,
                          size_t size, Error *e) {
    const char *where = getenv("TMPDIR");
    char folder[256];
    int status = rates_path(path, size, e);
    if (status) return status;
    int n = print_text(folder, sizeof folder, "%s/strata-XXXXXX", where && *where ? where : "/tmp");
    if (n >= (int)sizeof folder)
        return error_set(e, STATUS_USER,
                         "TMPDIR: expected a name of at most 240 bytes, found a longer one");
    if (!mkdtemp(folder)) return error_errno(e, folder, "make a folder for the program", errno);
    allowance_keep(a, folder);
    status = measure_all(folder, a, out, products, e);
    rmdir(folder);
    allowance_drop(a, folder);
    return status ? status : keep(out, products, path, e);
}
