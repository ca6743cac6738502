/* SPDX-License-Identifier: MIT
** Runs the model's probe.  Weights of reads: each source gets a code, a row of a Hadamard matrix
** times random signs, and as many sources are measured at once as there are codes.  The part of a
** read's output along a code is the weight of its source.  Rows are orthogonal over any run of
** channels as long as the number of codes.  Where weights are equal over such a run, one source
** therefore does not disturb another's weight; elsewhere the disturbance averages out over the
** signs.
*/
#include "probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_entries.h"
#include "random.h"

enum { CALL_TOKENS = 1024, SEED = 20260615 };

typedef struct Measure {
    Probe *x;
    Session *s;
    const ProbeText *text;
    ProbeEntries entries;
    const ProbeEntry *codes; /* NULL: nothing is followed */
    int64_t ncodes;
    float *out;     /* results of a call */
    double *sum;    /* of results, all calls of a pass */
    double loss;    /* mean of a pass */
    uint8_t *taken; /* [routes, tokens of the first call] */
    int64_t batch;  /* windows per call */
    int pass, passes;
    bool tells;
} Measure;

/* == Tables =============================================================== */

static const ProbeEntry *measure_entry(const Measure *a, ProbeKind kind, int64_t index) {
    return entry_of(&a->entries, kind, index);
}

static double *measure_numbers(int64_t count) { return calloc((size_t)count + 1, sizeof(double)); }

static bool open_tables(Measure *a) {
    const strata_model *m = a->s->m;
    if (!entries_open(&a->entries, m)) return false;
    a->codes = measure_entry(a, INPUT_CODES, 0);
    a->ncodes = a->codes ? a->codes->count / m->dim : 0;
    a->out = calloc((size_t)a->entries.floats + 1, sizeof *a->out);
    a->sum = measure_numbers(a->entries.floats);
    a->taken = calloc((size_t)m->routed + 1, (size_t)(a->batch * a->text->length));
    return a->out && a->sum && a->taken;
}

static bool open_probe(Measure *a) {
    Probe *x = a->x;
    const ProbeEntries *t = &a->entries;
    x->sources = t->kind[RESULT_SOURCE].count, x->reads = t->kind[RESULT_READ].count;
    x->layers = t->kind[RESULT_LAYER].count, x->gates = t->kind[RESULT_GATE].count;
    x->source_site = entry_sites(t, RESULT_SOURCE), x->read_site = entry_sites(t, RESULT_READ);
    x->layer_name = entry_sites(t, RESULT_LAYER), x->gate_site = entry_sites(t, RESULT_GATE);
    x->read_for = entry_lasts(t, RESULT_READ);
    x->routes = x->m->routed;
    x->routed = measure_numbers(x->routes), x->taken_rms = measure_numbers(x->routes),
    x->other_rms = measure_numbers(x->routes);
    x->taken = calloc((size_t)x->routes + 1, (size_t)a->text->shown + 1);
    x->source_rms = measure_numbers(x->sources), x->read_rms = measure_numbers(x->reads),
    x->layer_rms = measure_numbers(x->layers);
    x->gate_mean = measure_numbers(x->gates), x->gate_deviation = measure_numbers(x->gates),
    x->loss_increase = measure_numbers(x->layers);
    bool all = x->routed && x->taken_rms && x->other_rms && x->taken && x->source_site
        && x->read_site && x->read_for && x->layer_name && x->gate_site && x->source_rms
        && x->read_rms && x->layer_rms && x->gate_mean && x->gate_deviation && x->loss_increase;
    if (a->codes) {
        x->weight = measure_numbers((int64_t)x->reads * x->sources),
        x->deviation = measure_numbers((int64_t)x->reads * x->sources);
        all = all && x->weight && x->deviation;
    }
    if (t->kind[RESULT_SIMILARITY].count) {
        x->similarity = measure_numbers((int64_t)x->layers * x->layers);
        all = all && x->similarity;
    }
    return all;
}

void probe_free(Probe *x) {
    double *const number[] = { x->routed,       x->taken_rms,      x->other_rms,  x->weight,
                               x->deviation,    x->source_rms,     x->read_rms,   x->layer_rms,
                               x->gate_mean,    x->gate_deviation, x->similarity, x->gradient_norm,
                               x->loss_increase };
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        free(number[i]);
    probe_loads_free(x);
    free(x->taken), free(x->source_site), free(x->read_site), free(x->layer_name),
        free(x->gate_site), free(x->read_for);
    *x = (Probe){ 0 };
}

/* Room for what each buffer's rule gets. */
static bool open_loads(Measure *a) {
    Probe *x = a->x;
    int n = a->entries.kind[RESULT_LOAD].count;
    x->load = calloc((size_t)n + 1, sizeof *x->load);
    for (; x->load && x->loads < n; x->loads++) {
        const ProbeEntry *t = measure_entry(a, RESULT_LOAD, x->loads);
        ProbeLoad *l = &x->load[x->loads];
        *l = (ProbeLoad){ strata_string(x->m, t->site), t->count - 1, measure_numbers(t->count) };
        if (!l->mean) return false;
    }
    return x->load != NULL;
}

/* == Inputs =============================================================== */

/* Behind the weights, which stay as they are. */
static float *input(const Measure *a, ProbeKind kind, int64_t index) {
    const ProbeEntry *t = measure_entry(a, kind, index);
    return t ? (float *)a->s->weights.at + t->at : NULL;
}

static void measure_keep(const Measure *a, int source, float factor) {
    float *at = input(a, INPUT_KEEP, source);
    if (at) *at = factor;
}

static void keep_all(const Measure *a) {
    for (int s = 0; s < a->x->sources; s++)
        measure_keep(a, s, 1);
}

static void follow_none(const Measure *a) {
    for (int s = 0; s < a->x->sources; s++) {
        float *direction = input(a, INPUT_DIRECTION, s);
        if (direction) memset(direction, 0, (size_t)a->s->m->dim * sizeof(float));
    }
}

/* +1 or -1: row 'code' of a Hadamard matrix, with random signs of its columns. */
static float code_at(int64_t code, int64_t channel, int64_t codes, int draw) {
    int odd = __builtin_popcountll((unsigned long long)(code & (channel & (codes - 1)))) & 1;
    return (odd != (random_uniform(SEED, (uint32_t)draw, (uint64_t)channel) < 0.5)) ? 1.0f : -1.0f;
}

/* Sources first … get codes 0 …, the rest none. */
static void follow(const Measure *a, int first, int draw) {
    int64_t dim = a->s->m->dim;
    follow_none(a);
    for (int64_t c = 0; c < a->ncodes; c++) {
        float *code = input(a, INPUT_CODES, 0) + c * dim,
              *direction = input(a, INPUT_DIRECTION, first + c);
        for (int64_t d = 0; d < dim; d++)
            code[d] = code_at(c, d, a->ncodes, draw);
        if (direction) memcpy(direction, code, (size_t)dim * sizeof(float));
    }
}

/* == Passes =============================================================== */

static void measure_tell(Measure *a) {
    a->pass++;
    if (a->tells) fprintf(stderr, "\r\033[Kprobe: %d of %d passes", a->pass, a->passes);
}

/* All windows; results are added up.  With 'first' >= 0 sources from there on are followed. */
static int run_pass(Measure *a, int first, Error *e) {
    const ProbeText *x = a->text;
    memset(a->sum, 0, (size_t)a->entries.floats * sizeof *a->sum);
    a->loss = 0;
    measure_tell(a);
    for (int64_t i = 0, b; i < x->count; i += b) {
        strata_loss loss = { .struct_size = sizeof loss };
        b = x->count - i < a->batch ? x->count - i : a->batch;
        if (first >= 0) follow(a, first, (int)i);
        int status = session_check(a->s,
                                   a->s->api->probe(a->s->ctx.at, a->s->weights.at, a->s->arena.at,
                                                    x->tokens + i * x->length,
                                                    x->targets + i * x->length, b, x->length,
                                                    a->out, i ? NULL : a->taken, &loss),
                                   "probe", e);
        if (status) return status;
        for (int64_t k = 0; k < a->entries.floats; k++)
            a->sum[k] += a->out[k];
        a->loss += loss.cross_entropy * (double)b / (double)x->count;
    }
    return STATUS_OK;
}

/* Over the tokens that a result says it has summed; not a number where there are none. */
static double mean(const Measure *a, const ProbeEntry *t, int64_t k) {
    return t ? a->sum[t->at + k] / a->sum[t->at + t->count - 1] : NAN;
}

/* Rounding may take a variance below 0; what is not a number stays so. */
static double deviation(double mean_square, double mean) {
    double variance = mean_square - mean * mean;
    return sqrt(variance < 0 ? 0 : variance);
}

static double ratio(const Measure *a, const ProbeEntry *t, int64_t k, int64_t of) {
    return a->sum[t->at + k] / a->sum[t->at + of];
}

/* Results of a route: whether it takes a token; the mean square of what it decides about, where it
** does and where not. */
static void take_routes(Measure *a) {
    Probe *x = a->x;
    int64_t tokens = a->text->length * (a->batch < a->text->count ? a->batch : a->text->count);
    for (int i = 0; i < x->routes; i++) {
        const ProbeEntry *t = measure_entry(a, RESULT_ROUTE, i);
        bool outputs = t && t->count == 4;
        x->routed[i] = t ? mean(a, t, 0) : 0;
        x->taken_rms[i] = outputs ? sqrt(ratio(a, t, 1, 0)) : NAN;
        x->other_rms[i] = outputs ? sqrt(mean(a, t, 2) / (1 - x->routed[i])) : NAN;
        memcpy(x->taken + (size_t)i * (size_t)a->text->shown, a->taken + i * tokens,
               (size_t)a->text->shown);
    }
}

static void take_magnitudes(Measure *a) {
    Probe *x = a->x;
    x->loss = a->loss;
    take_routes(a);
    for (int i = 0; i < x->loads; i++)
        for (int64_t k = 0; k < x->load[i].count; k++)
            x->load[i].mean[k] = mean(a, measure_entry(a, RESULT_LOAD, i), k);
    for (int i = 0; i < x->sources; i++)
        x->source_rms[i] = sqrt(mean(a, measure_entry(a, RESULT_SOURCE, i), 0));
    for (int i = 0; i < x->reads; i++)
        x->read_rms[i] = sqrt(mean(a, measure_entry(a, RESULT_READ, i), 0));
    for (int i = 0; i < x->gates; i++) {
        x->gate_mean[i] = mean(a, measure_entry(a, RESULT_GATE, i), 0);
        x->gate_deviation[i] = deviation(mean(a, measure_entry(a, RESULT_GATE, i), 1),
                                         x->gate_mean[i]);
    }
    for (int i = 0; i < x->layers; i++) {
        x->layer_rms[i] = sqrt(mean(a, measure_entry(a, RESULT_LAYER, i), 0));
        for (int k = 0; x->similarity && k < x->layers; k++)
            x->similarity[i * x->layers + k] = ratio(a, measure_entry(a, RESULT_SIMILARITY, i), k,
                                                     x->layers + k);
    }
}

/* Results of a read: mean square, weights, squares of weights. */
static void take_weights(Measure *a, int first) {
    Probe *x = a->x;
    for (int r = 0; r < x->reads; r++)
        for (int c = 0; c < a->ncodes && first + c < x->sources; c++) {
            const ProbeEntry *t = measure_entry(a, RESULT_READ, r);
            int64_t at = (int64_t)r * x->sources + first + c;
            /* what is later is not read: rounding at most */
            if (!t || t->count < 2 + 2 * a->ncodes || first + c > r) continue;
            x->weight[at] = mean(a, t, 1 + c);
            x->deviation[at] = deviation(mean(a, t, 1 + a->ncodes + c), x->weight[at]);
        }
}

static int measure_weights(Measure *a, Error *e) {
    keep_all(a);
    follow_none(a);
    int status = STATUS_OK, step = a->ncodes ? (int)a->ncodes : a->x->sources + 1;
    for (int first = 0; !status && (first < a->x->sources || !first); first += step) {
        status = run_pass(a, a->codes ? first : -1, e);
        if (!status && !first) take_magnitudes(a);
        if (!status && a->codes) take_weights(a, first);
    }
    follow_none(a);
    return status;
}

static int measure_without(Measure *a, Error *e) {
    Probe *x = a->x;
    int status = STATUS_OK;
    for (int i = 0; !status && i < x->layers; i++) {
        keep_all(a);
        for (int s = 0; s < x->sources; s++) {
            const ProbeEntry *source = measure_entry(a, RESULT_SOURCE, s);
            if (source && source->layer == i) measure_keep(a, s, 0);
        }
        status = run_pass(a, -1, e);
        x->loss_increase[i] = a->loss - x->loss;
    }
    return status;
}

/* == Gradients ============================================================ */

static double squares(const float *g, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)g[i] * g[i];
    return sum;
}

static void take_gradients(Measure *a) {
    const strata_model *m = a->s->m;
    const strata_tensor *t = strata_tensors(m);
    const int32_t *layer = probe_tensor_layers(m);
    for (int i = 0; i < a->x->layers; i++) {
        double sum = 0;
        for (int k = 0; k < m->tensors - m->frozen; k++)
            if (layer[k] == i)
                sum += squares((const float *)a->s->train.at + t[k].gradient, t[k].count);
        a->x->gradient_norm[i] = sqrt(sum);
    }
}

static int measure_gradients(Measure *a, Error *e) {
    const ProbeText *x = a->text;
    Session *s = a->s;
    a->x->gradient_norm = measure_numbers(a->x->layers);
    int status = a->x->gradient_norm
        ? session_train(s, e)
        : error_memory(e, "probe", (size_t)a->x->layers * sizeof(double));
    measure_tell(a);
    for (int64_t i = 0, b; !status && i < x->count; i += b) {
        strata_loss loss = { .struct_size = sizeof loss };
        b = x->count - i < a->batch ? x->count - i : a->batch;
        status = session_arena(s, b * x->length, false, e);
        if (!status)
            status = session_check(
                s,
                s->api->forward_backward(s->ctx.at, s->weights.at, s->train.at, s->arena.at,
                                         x->tokens + i * x->length, x->targets + i * x->length, b,
                                         x->length, (float)b / (float)x->count,
                                         i ? STRATA_ACCUMULATE : 0, NULL, NULL, &loss),
                "forward_backward", e);
    }
    if (!status) take_gradients(a);
    region_close(&s->train);
    return status;
}

/* == All of it ============================================================ */

static int open_arena(Measure *a, Error *e) {
    size_t bytes = a->s->api->probe_arena_bytes(a->batch * a->text->length, a->s->workers);
    if (bytes <= a->s->arena.bytes) return STATUS_OK;
    region_close(&a->s->arena);
    return region_open(&a->s->arena, "activations", bytes, e);
}

static int measure_run(Measure *a, Error *e) {
    int groups = a->codes ? (int)((a->x->sources + a->ncodes - 1) / a->ncodes) : 1;
    a->passes = groups + a->x->layers + (a->s->m->training != 0);
    int status = open_arena(a, e);
    if (!status) status = measure_weights(a, e);
    if (!status) status = measure_without(a, e);
    if (!status && a->s->m->training) status = measure_gradients(a, e);
    if (a->tells) fprintf(stderr, "\r\033[K");
    return status;
}

int probe_measure(Probe *x, Session *s, const ProbeText *text, bool tells, Error *e) {
    *x = (Probe){ .m = s->m, .text = text, .tokens = text->count * text->length };
    Measure a = { .x = x, .s = s, .text = text, .tells = tells };
    a.batch = text->length < CALL_TOKENS ? CALL_TOKENS / text->length : 1;
    int status = open_tables(&a) && open_probe(&a) && open_loads(&a)
        ? measure_run(&a, e)
        : error_memory(e, "probe", (size_t)a.entries.floats * sizeof *a.sum);
    entries_close(&a.entries);
    free(a.out), free(a.sum), free(a.taken);
    return status;
}
