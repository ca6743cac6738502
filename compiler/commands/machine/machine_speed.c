/* SPDX-License-Identifier: MIT
** See machine_speed.h.  It takes the median times of all kernels of two models and fits the rates
** to them (rates_fit.h).  One model is plain; the kernels between layers of the other one execute
** many multiply-adds for each number that they read.
*/
#include "machine_speed.h"

#include "comparison.h"
#include "machine_timed.h"
#include "rates_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, STEPS = 3, MODELS = 2 };

static const char *const residual[MODELS] = { "standard {}", "hyper { streams = 4 }" };

/* A model, its kernels in the report's order, and its steps: seconds of every round. */
typedef struct Timed {
    Report *report;
    double *kernel; /* [nkernel][ROUNDS] */
    double step[ROUNDS], kernels[ROUNDS];
    double peak; /* FLOPs a second */
    int rounds;
} Timed;

static void write_spec(Text *t, const char *mixer) {
    text_add(t,
             "return model { name = \"timed\", vocab = 256, context = 512, dim = 256,\n"
             "  norm = rmsnorm { eps = 1e-6 }, residual = %s,\n"
             "  layers = times(4, layer { attention { heads = 8, rope = { theta = 10000 } },\n"
             "    mlp { hidden = 1024, activation = \"swiglu\" } }),\n"
             "  train = { optimizer = adamw { lr = 1e-3 }, batch = 2, seed = 1 } }\n",
             mixer);
}

/* == Rounds =============================================================== */

static double speed_told(const Json *j, const JsonNode *n, const char *key) {
    const JsonNode *value = json_member(j, n, key);
    double x;
    return value && json_double(value, &x) ? x : 0;
}

static int kernel_of(const Report *r, const JsonNode *name) {
    for (int i = 0; name && name->type == JSON_STRING && i < r->nkernel; i++)
        if (!strcmp(r->kernel[i].name, name->text)) return i;
    return -1;
}

static int take_round(const Json *j, void *to, Error *e) {
    Timed *t = to;
    double all = 0;
    size_t most = (size_t)t->report->nkernel * ROUNDS;
    if (!t->kernel) t->kernel = calloc(most + 1, sizeof *t->kernel);
    if (!t->kernel) return error_memory(e, "strata doctor", most * sizeof *t->kernel);
    const JsonNode *list = json_member(j, j->node, "kernels");
    for (const JsonNode *n = list ? json_first(j, list) : NULL; n; n = json_next(j, n)) {
        int i = kernel_of(t->report, json_member(j, n, "name"));
        if (i >= 0) all += t->kernel[i * ROUNDS + t->rounds] = speed_told(j, n, "seconds");
    }
    double vectors = speed_told(j, j->node, "vector_peak_gflops"); /* row kernels have no tiles */
    t->peak = fmax(t->peak, 1e9 * (vectors > 0 ? vectors : speed_told(j, j->node, "peak_gflops")));
    t->step[t->rounds] = speed_told(j, j->node, "seconds");
    t->kernels[t->rounds] = all;
    if (!(all > 0 && t->peak > 0 && t->step[t->rounds] > 0))
        return error_set(
            e, STATUS_INTERNAL,
            "strata doctor: expected bench --json to tell times of kernels, found none");
    t->rounds++;
    return STATUS_OK;
}

static int time_model(const char *folder, const char *mixer, Allowance *a, Timed *t, Error *e) {
    Text spec = { 0 };
    const TimedModel m = { folder, &spec, MULTIPLY_GENERATED, STEPS, ROUNDS, &t->report };
    write_spec(&spec, mixer);
    return machine_timed(a, &m, take_round, t, e);
}

/* == Rates ================================================================ */

/* Those of t into the list. */
static int add_kernels(const Timed *t, TimedKernel *to) {
    int n = 0;
    for (int i = 0; i < t->report->nkernel; i++) {
        const ReportKernel *k = &t->report->kernel[i];
        double seconds = stats_median(t->kernel + (ptrdiff_t)i * ROUNDS, ROUNDS);
        if (seconds > 0)
            to[n++] = (TimedKernel){ k->family, report_all_work(t->report, &k->work[TRAINING]),
                                     seconds };
    }
    return n;
}

/* What is left of a step without its kernels and the optimizer, over the time of the kernels. */
static double waiting_of(const Timed *t, const Rates *r) {
    double waits[ROUNDS], update = report_update_bytes(t->report) / r->memory;
    for (int i = 0; i < ROUNDS; i++)
        waits[i] = (t->step[i] - update) / t->kernels[i] - 1;
    return fmax(0, stats_median(waits, ROUNDS));
}

static int fit(const Timed t[MODELS], Rates *out, Error *e) {
    size_t most = 0;
    int n = 0;
    for (int i = 0; i < MODELS; i++)
        most += (size_t)t[i].report->nkernel;
    TimedKernel *list = calloc(most + 1, sizeof *list);
    if (!list) return error_memory(e, "strata doctor", most * sizeof *list);
    for (int i = 0; i < MODELS; i++)
        n += add_kernels(&t[i], list + n);
    bool good = rates_fit(out, list, n, t[0].peak);
    free(list);
    if (!good)
        return error_set(e, STATUS_INTERNAL,
                         "strata doctor: expected times of products, attention and row kernels, "
                         "found none of some");
    for (int i = 0; i < MODELS; i++)
        out->waiting += waiting_of(&t[i], out) / MODELS;
    return STATUS_OK;
}

int machine_speed(const char *folder, Allowance *a, Rates *out, Error *e) {
    Timed t[MODELS] = { 0 };
    int status = STATUS_OK;
    for (int i = 0; !status && i < MODELS; i++)
        status = time_model(folder, residual[i], a, &t[i], e);
    *out = (Rates){ 0 };
    if (!status) status = fit(t, out, e);
    for (int i = 0; i < MODELS; i++) {
        report_free(t[i].report);
        free(t[i].kernel);
    }
    return status;
}
