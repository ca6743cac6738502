/* SPDX-License-Identifier: MIT
** Measures depth-mixing matrices with the float64 interpreter, with one token per sample.  Reads
** are processed in batches to keep the graph small: walking back from every read makes far more
** nodes than the reads themselves have.
*/
#include "mixing.h"
#include "fatal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mixing_graph.h"
#include "random.h"

enum { FEW = 2, MANY = 6, CHANNELS = 8, SHALLOW = 48, BATCH_NODES = 40000, MOST_SUBLAYERS = 400 };

typedef struct MixingMeasure {
    Mixing *x;
    const Model *m;
    const MixingInput *in;
    double **value;  /* of the model's parameters, by id in its graph */
    double **source; /* [samples, dim]; after the last one the direction */
    const MixingGraph *graph;
} MixingMeasure;

/* Weights and sources that are random numbers, or the weights as they are in the beginning. */
typedef struct Numbers {
    const Model *m;
    MixingWeights weights;
    uint64_t seed;
    int samples;
} Numbers;

/* == Numbers ============================================================== */

static double *normal_numbers(uint64_t seed, const char *name, int64_t count, double deviation) {
    float *f = checked_new((size_t)count, sizeof *f);
    double *d = checked_new((size_t)count, sizeof *d);
    random_normal(seed, random_stream(name), 0, count, deviation, f);
    for (int64_t i = 0; i < count; i++)
        d[i] = f[i];
    free(f);
    return d;
}

static void add_uniform(const Numbers *a, const Init *init, const char *name, int64_t count,
                        double *v) {
    float *f = checked_new((size_t)count, sizeof *f);
    random_even(a->m->train.seed, random_stream(name), (Evenly){ init->list, init->points }, 0,
                count, f);
    for (int64_t i = 0; i < count; i++)
        v[i] += f[i];
    free(f);
}

static const Init *init_of(const Graph *g, const Node *param) {
    const Param *p = graph_find_param(g, param->attr->name);
    if (!p) bug(param, "has no entry among the parameters");
    return &p->init;
}

static double *param_values(void *user, const Node *p) {
    const Numbers *a = user;
    const Init *init = init_of(a->m->graph, p);
    int64_t count = shape_count(&p->shape),
            last = p->shape.rank ? p->shape.dim[p->shape.rank - 1] : 1;
    bool initial = a->weights == WEIGHTS_INITIAL;
    double own = initial ? 0 : 1 / sqrt((double)last);
    double *v = normal_numbers(initial ? a->m->train.seed : a->seed, p->attr->name, count,
                               init->kind == INIT_NORMAL && initial ? init->value : own);
    if (init->kind == INIT_UNIFORM) add_uniform(a, init, p->attr->name, count, v);
    for (int64_t i = 0; i < count && init->kind != INIT_NORMAL && init->kind != INIT_UNIFORM; i++)
        v[i] += init->kind == INIT_LIST ? init->list[i] : init->value;
    return v;
}

static double *source_numbers(const Model *m, uint64_t seed, int samples, int s) {
    char name[32];
    snprintf(name, sizeof name, "source %d", s);
    return normal_numbers(seed, name, (int64_t)samples * m->dim, 1);
}

static double *source_values(void *user, int s) {
    const Numbers *a = user;
    return source_numbers(a->m, a->seed, a->samples, s);
}

/* 1 and -1. */
static double *direction_values(const MixingMeasure *a) {
    double *v = source_numbers(a->m, a->in->seed, a->x->samples, a->m->nsource);
    for (int64_t i = 0; i < a->x->samples * a->m->dim; i++)
        v[i] = v[i] < 0 ? -1 : 1;
    return v;
}

static const double *mixing_value_of(void *user, const Node *param) {
    MixingMeasure *a = user;
    bool described = param->id < a->graph->origins;
    int origin = described ? a->graph->origin[param->id] : -1,
        s = described ? a->graph->source[param->id] : a->m->nsource;
    double **slot = origin >= 0 ? &a->value[origin] : &a->source[s];
    if (!*slot)
        *slot = origin >= 0     ? a->in->param(a->in->user, a->m->graph->node[origin])
            : s < a->m->nsource ? a->in->source(a->in->user, s)
                                : direction_values(a);
    return checked(*slot);
}

/* == A batch of reads ===================================================== */

/* Weight = d * (J^T d), channel by channel: d is 1 or -1. */
static void keep_entry(MixingMeasure *a, int r, int s, const double *pulled) {
    Mixing *x = a->x;
    int64_t D = a->m->dim;
    const double *d = a->source[a->m->nsource];
    double sum = 0;
    for (int64_t i = 0; i < x->samples * D; i++)
        sum += d[i] * pulled[i];
    x->mean[r * x->size + s] = sum / (double)(x->samples * D);
    for (int b = 0; b < x->samples; b++)
        for (int c = 0; c < x->channels; c++) {
            int64_t at = b * D + c * D / x->channels;
            x->one[((size_t)(b * x->channels + c) * (size_t)x->size + (size_t)r) * (size_t)x->size
                   + (size_t)s] = d[at] * pulled[at];
        }
}

static void keep_batch(MixingMeasure *a, int first, int end) {
    int32_t *id = graph_alloc(a->graph->g, (size_t)a->x->samples * sizeof *id);
    for (int b = 0; b < a->x->samples; b++)
        id[b] = b;
    EvalInput in = { .batch = a->in->batch,
                     .time = a->in->time,
                     .tokens = id,
                     .param = mixing_value_of,
                     .user = a,
                     .seed = 1 };
    Eval *ev = eval_new(a->graph->g, &in);
    for (int r = first; r < end; r++)
        for (int s = 0; s < a->x->size; s++) {
            const Node *w = mixing_graph_weight(a->graph, r, s);
            if (w) keep_entry(a, r, s, eval_value(ev, w));
        }
    eval_free(ev);
}

static int measure_batch(MixingMeasure *a, int first) {
    MixingGraph *graph = mixing_graph_new(a->m, a->x->samples);
    int r = first, base = graph->g->n;
    a->graph = graph;
    while (r < a->x->size && (r == first || graph->g->n - base < 2 * base + BATCH_NODES))
        mixing_graph_read(graph, r++);
    keep_batch(a, first, r);
    mixing_graph_free(graph);
    return r;
}

/* == All reads ============================================================ */

static Mixing *mixing_new(const Model *m, int samples) {
    Mixing *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    x->size = m->nread;
    x->samples = samples;
    x->channels = m->dim < CHANNELS ? (int)m->dim : CHANNELS;
    size_t entries = (size_t)x->size * (size_t)x->size;
    x->mean = calloc(entries, sizeof *x->mean);
    x->one = calloc(entries * (size_t)x->samples * (size_t)x->channels, sizeof *x->one);
    if (x->mean && x->one) return x;
    mixing_free(x);
    return NULL;
}

Mixing *mixing_measure_input(const Model *m, const MixingInput *in, Error *e) {
    if (m->sublayers > MOST_SUBLAYERS)
        return error_set(e, STATUS_LIMIT,
                         "%s: expected at most %d sublayers to measure depth mixing, found %lld",
                         m->file, MOST_SUBLAYERS, (long long)m->sublayers),
               NULL;
    MixingMeasure a = { .x = mixing_new(m, in->batch * in->time), .m = m, .in = in };
    a.value = calloc((size_t)m->graph->n + 1, sizeof *a.value);
    a.source = calloc((size_t)m->nsource + 1, sizeof *a.source);
    if (a.x && a.value && a.source)
        for (int r = 0; r < m->nread;)
            r = measure_batch(&a, r);
    else
        error_memory(e, "depth mixing", (size_t)m->graph->n * sizeof *a.value), mixing_free(a.x),
            a.x = NULL;
    for (int i = 0; a.value && i < m->graph->n; i++)
        free(a.value[i]);
    for (int s = 0; a.source && s <= m->nsource; s++)
        free(a.source[s]);
    free(a.value);
    free(a.source);
    return a.x;
}

Mixing *mixing_measure(const Model *m, MixingWeights weights, uint64_t seed, Error *e) {
    Numbers numbers = { m, weights, seed, m->nread <= SHALLOW ? MANY : FEW };
    const MixingInput in = {
        .batch = numbers.samples,
        .time = 1,
        .seed = seed,
        .param = param_values,
        .source = source_values,
        .user = &numbers,
    };
    return mixing_measure_input(m, &in, e);
}

void mixing_free(Mixing *x) {
    if (!x) return;
    free(x->mean);
    free(x->one);
    free(x);
}

/* == What it depends on =================================================== */

static bool differ(const double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (fabs(a[i] - b[i]) > 1e-9 * (fabs(a[i]) + fabs(b[i]))) return true;
    return false;
}

MixingKind mixing_kind(const Mixing *initial, const Mixing *random) {
    size_t sample = (size_t)random->channels * (size_t)random->size * (size_t)random->size;
    for (int b = 1; b < random->samples; b++)
        if (differ(random->one, random->one + (size_t)b * sample, sample)) return MIXING_DATA;
    return differ(initial->one, random->one, sample) ? MIXING_PARAMETERS : MIXING_FIXED;
}
