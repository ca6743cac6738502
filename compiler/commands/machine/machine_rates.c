/* SPDX-License-Identifier: MIT
** See machine_rates.h: what is saved, and where.
*/
#include "rates_file.h"

#include "cache_folder.h"
#include "codegen.h"
#include "files.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RATES_VALUES = 1 << 16 };

const RateMember rates_member[RATES_MEMBERS] = {
    { "products_per_second", offsetof(Rates, products), false },
    { "sequences_per_second", offsetof(Rates, sequences), false },
    { "rows_per_second", offsetof(Rates, rows), false },
    { "functions_per_second", offsetof(Rates, functions), false },
    { "bytes_per_second", offsetof(Rates, memory), false },
    { "waiting", offsetof(Rates, waiting), true },
};

double *rates_rate(Rates *r, int i) { return (double *)(void *)((char *)r + rates_member[i].at); }

int rates_processors(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* == What is kept ========================================================= */

int rates_path(char *path, size_t size, Error *e) {
    const char *cpu = codegen_native();
    char *cache;
    int status = cache_path("doctor", &cache, e);
    if (status) return status;
    int n = snprintf(path, size, "%s/rates-%s-%d.json", cache, cpu ? cpu : "none",
                     rates_processors());
    free(cache);
    return n > 0 && (size_t)n < size
        ? STATUS_OK
        : error_set(e, STATUS_USER, "strata doctor: expected the cache's path to be shorter");
}

static bool take_rates(const Json *j, Rates *to) {
    Rates r = { .threads = rates_processors(), .measured = true };
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
    Rates r = { .threads = rates_processors() };
    Json j;
    if (read_kept(&j)) take_rates(&j, &r);
    json_free(&j);
    return r;
}

ProductRatios machine_ratios(void) {
    ProductRatios r = { 0 };
    Json j;
    if (read_kept(&j)) r = products_read(&j);
    json_free(&j);
    return r;
}
