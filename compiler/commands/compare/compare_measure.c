/* SPDX-License-Identifier: MIT
** Times the variants' programs in rounds.  In a round every variant runs once, so that
** disturbances of the machine affect all of them; the order is reversed every round.
*/
#include "workshop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BENCH_VALUES = 1 << 20 };

static int unexpected(const Variant *v, const char *key, Error *e) {
    return error_set(e, STATUS_INTERNAL,
                     "%s: expected bench --json to tell %s, found no such number", v->label, key);
}

static int measure_number(const Json *j, const JsonNode *box, const Variant *v, const char *key,
                          double *out, Error *e) {
    const JsonNode *n = json_member(j, box, key);
    return n && json_double(n, out) ? STATUS_OK : unexpected(v, key, e);
}

/* Kernels of the loss alone are in neither; one that is not told took no time. */
static int take_kernels(const Json *j, Variant *v, int round, Error *e) {
    const JsonNode *list = json_member(j, j->node, "kernels");
    double *seconds = v->timing.kernel + (size_t)round * (size_t)v->report->nkernel;
    if (!list || list->type != JSON_ARRAY) return unexpected(v, "kernels", e);
    for (const JsonNode *n = json_first(j, list); n; n = json_next(j, n)) {
        const JsonNode *name = json_member(j, n, "name");
        for (int k = 0; name && name->type == JSON_STRING && k < v->report->nkernel; k++)
            if (!strcmp(v->report->kernel[k].name, name->text)
                && measure_number(j, n, v, "seconds", &seconds[k], e))
                return e->status;
    }
    return STATUS_OK;
}

static int measure_take(const Comparison *c, Variant *v, const Json *j, int round, Error *e) {
    Timing *t = &v->timing;
    double rate, memory, peak, bandwidth;
    int status = measure_number(j, j->node, v, "seconds", &t->seconds[round], e);
    if (!status) status = measure_number(j, j->node, v, "tokens_per_second", &rate, e);
    if (!status) status = measure_number(j, j->node, v, "peak_memory_bytes", &memory, e);
    if (!status) status = measure_number(j, j->node, v, "peak_gflops", &peak, e);
    if (!status)
        status = measure_number(j, j->node, v, "bandwidth_gbytes_per_second", &bandwidth, e);
    if (!status && !(t->seconds[round] > 0)) status = unexpected(v, "seconds above 0", e);
    if (status) return status;
    t->tokens = rate * t->seconds[round];
    t->memory = fmax(t->memory, memory);
    t->peak += 1e9 * peak / c->rounds;
    t->bandwidth += 1e9 * bandwidth / c->rounds;
    return take_kernels(j, v, round, e);
}

static int bench(const Workshop *w, Comparison *c, int variant, int round, Error *e) {
    Variant *v = &c->variant[variant];
    char path[WORKSHOP_PATH], threads[16];
    workshop_path(w, variant, "", path);
    print_text(threads, sizeof threads, "%d", c->threads);
    char *argv[] = {
        path,    "bench", "--train", "--json", "--blas", "built", c->threads ? "--threads" : NULL,
        threads, NULL
    };
    Text out = { 0 };
    Json j = { 0 };
    doing(w->allowance, "measuring %s, round %d of %d", v->label, round + 1, c->rounds);
    int status = workshop_run(w, c, variant, argv, NULL, &out, e);
    if (!status)
        status = json_parse(&j, v->label, out.at ? out.at : "", out.length, BENCH_VALUES, e);
    if (!status) status = measure_take(c, v, &j, round, e);
    json_free(&j);
    text_free(&out);
    return status;
}

static int measure_make_room(Comparison *c, Error *e) {
    for (int i = 0; i < c->n; i++) {
        Timing *t = &c->variant[i].timing;
        size_t rounds = (size_t)c->rounds, kernels = (size_t)c->variant[i].report->nkernel;
        t->seconds = calloc(rounds, sizeof *t->seconds);
        t->kernel = calloc(rounds * kernels + 1, sizeof *t->kernel);
        if (!t->seconds || !t->kernel)
            return error_memory(e, "strata compare", rounds * kernels * sizeof *t->kernel);
    }
    return STATUS_OK;
}

int workshop_measure(const Workshop *w, Comparison *c, Error *e) {
    int status = measure_make_room(c, e);
    for (int r = 0; !status && r < c->rounds; r++)
        for (int k = 0; !status && k < c->n; k++)
            status = bench(w, c, r % 2 ? c->n - 1 - k : k, r, e);
    for (int i = 0; !status && i < c->n; i++)
        c->variant[i].timing.slower = stats_ratio(c->variant[i].timing.seconds,
                                                  c->variant->timing.seconds, c->rounds);
    return status;
}
