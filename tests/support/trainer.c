/* SPDX-License-Identifier: MIT
** A step, with g the mean over micro-batches of the gradient of the loss:
**   g <- g min(1, clip / (|g| + 1e-6)),  |g| over all parameters together
**   p <- p (1 - lr wd)  where p decays
**   m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2
**   p <- p - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
** or, of a matrix that Muon trains, as muon_reference.h says.
*/
#include "trainer.h"

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "muon_reference.h"
#include "spec.h"

/* A parameter with its gradient and moments, 'count' elements each. */
typedef struct Weight {
    const char *name;
    int rank;
    int64_t count, rows;
    const Node *gradient; /* output of the graph; NULL: frozen */
    double *p, *g, *m, *v;
} Weight;

struct Trainer {
    Model *model;
    Graph *graph; /* losses and gradients only */
    Weight *weight;
    int weights;
    int64_t step; /* done */
};

static void *take(int64_t count, size_t size) {
    void *p = calloc((size_t)count + 1, size);
    assert_non_null(p);
    return p;
}

/* == The model ============================================================ */

static Graph *gradient_graph(Graph *g) {
    const char **name = take(g->nparam + 3, sizeof *name);
    int n = 0;
    pass_gradient(g);
    name[n++] = "loss", name[n++] = "cross_entropy";
    for (int i = 0; i < g->nout; i++)
        if (!strncmp(g->out[i].name, "grad.", 5)) name[n++] = g->out[i].name;
    Graph *gradients = graph_extract(g, name);
    free(name);
    return gradients;
}

static void open_weight(Weight *w, const Graph *g, const Node *param) {
    char output[512];
    *w = (Weight){ .name = param->attr->name,
                   .rank = param->shape.rank,
                   .rows = param->shape.rank ? param->shape.dim[0] : 1,
                   .count = shape_count(&param->shape) };
    snprintf(output, sizeof output, "grad.%s", w->name);
    w->gradient = graph_find(g, output);
    if (!graph_find_param(g, w->name)->tuning.frozen) assert_non_null(w->gradient);
    w->g = take(w->count, sizeof *w->g), w->m = take(w->count, sizeof *w->m),
    w->v = take(w->count, sizeof *w->v);
}

Trainer *trainer_open(const char *spec,
                      double *(*weight)(void *user, const char *name, int64_t *count), void *user) {
    Error wrong;
    Trainer *t = take(1, sizeof *t);
    if (!(t->model = spec_load(spec, NULL, &wrong))) fail_msg("%s", wrong.text);
    const Graph *g = t->model->graph;
    t->graph = gradient_graph(t->model->graph);
    for (int i = 0; i < g->nparam; i++) /* those that are frozen and read are there, too */
        assert_non_null(graph_find_param(t->graph, g->param[i].node->attr->name));
    t->weights = g->nparam;
    t->weight = take(t->weights, sizeof *t->weight);
    for (int i = 0; i < t->weights; i++) {
        int64_t count = 0;
        Weight *w = &t->weight[i];
        open_weight(w, t->graph, g->param[i].node);
        w->p = weight(user, w->name, &count);
        assert_int_equal(count, w->count);
    }
    return t;
}

void trainer_close(Trainer *t) {
    for (int i = 0; i < t->weights; i++) {
        free(t->weight[i].p), free(t->weight[i].g);
        free(t->weight[i].m), free(t->weight[i].v);
    }
    free(t->weight);
    graph_free(t->graph);
    spec_free(t->model);
    free(t);
}

/* == Loss and gradients =================================================== */

static const double *value_of(void *user, const Node *param) {
    const Trainer *t = user;
    for (int i = 0; i < t->weights; i++)
        if (!strcmp(t->weight[i].name, param->attr->name)) return t->weight[i].p;
    return NULL;
}

/* 'batch' windows from number 'first' on; a target is the byte after its token. */
static void read_windows(const Trainer *t, const Recipe *r, const char *text, int64_t count,
                         int64_t first, int32_t *tokens, int32_t *targets) {
    int64_t length = t->model->context;
    for (int64_t b = 0; b < r->batch; b++) {
        int64_t from = r->start(r, count, length, first + b);
        assert_true(from >= 0 && from + length < count);
        for (int64_t i = 0; i < length; i++) {
            tokens[b * length + i] = (unsigned char)text[from + i];
            targets[b * length + i] = (unsigned char)text[from + i + 1];
        }
    }
}

/* Adds a micro-batch's share of the step's losses and gradients. */
static void add_micro_batch(Trainer *t, const Recipe *r, const int32_t *tokens,
                            const int32_t *targets, TrainerStep *s) {
    double share = 1.0 / (double)r->accumulate;
    EvalInput in = { .batch = r->batch,
                     .time = t->model->context,
                     .tokens = tokens,
                     .targets = targets,
                     .param = value_of,
                     .user = t,
                     .seed = 1 };
    Eval *ev = eval_new(t->graph, &in);
    s->loss += share * *eval_value(ev, graph_find(t->graph, "loss"));
    s->cross_entropy += share * *eval_value(ev, graph_find(t->graph, "cross_entropy"));
    for (int i = 0; i < t->weights; i++) {
        const Weight *w = &t->weight[i];
        const double *g = w->gradient ? eval_value(ev, w->gradient) : NULL;
        for (int64_t k = 0; g && k < w->count; k++)
            w->g[k] += share * g[k];
    }
    eval_free(ev);
}

static void find_gradients(Trainer *t, const Recipe *r, const char *text, int64_t count,
                           TrainerStep *s) {
    int64_t ids = r->batch * t->model->context;
    int32_t *tokens = take(ids, sizeof *tokens), *targets = take(ids, sizeof *targets);
    for (int i = 0; i < t->weights; i++)
        memset(t->weight[i].g, 0, (size_t)t->weight[i].count * sizeof(double));
    for (int64_t a = 0; a < r->accumulate; a++) {
        read_windows(t, r, text, count, (t->step * r->accumulate + a) * r->batch, tokens, targets);
        add_micro_batch(t, r, tokens, targets, s);
    }
    free(tokens), free(targets);
}

/* == Windows, schedules =================================================== */

/* One after another, sharing a token at their ends, for as long as whole ones fit; then from the
** start again. */
int64_t start_sequential(const Recipe *r, int64_t count, int64_t context, int64_t window) {
    (void)r;
    int64_t whole = 0;
    while ((whole + 1) * context + 1 <= count)
        whole++;
    return window % whole * context;
}

/* Linear up to lr at the end of the warm-up: 1 from there on. */
static double warm(const Recipe *r, int64_t step) {
    return fmin(1, (double)step / (r->warmup * (double)r->steps));
}

/* From the end of the warm-up half a period, down to min_lr at the last step. */
double rate_cosine(const Recipe *r, int64_t step) {
    double share = ((double)step / (double)r->steps - r->warmup) / (1 - r->warmup);
    double low = r->min_lr, high = r->lr;
    return share < 0 ? warm(r, step) * high
                     : (high + low) / 2 + (high - low) / 2 * cos(acos(-1) * share);
}

/* Constant between the warm-up and the last 'decay' of the run, which falls on a line to min_lr. */
double rate_wsd(const Recipe *r, int64_t step) {
    double left = (1 - (double)step / (double)r->steps) / r->decay;
    return left < 1 ? left * r->lr + (1 - left) * r->min_lr : warm(r, step) * r->lr;
}

/* == AdamW ================================================================ */

static double norm(const Trainer *t) {
    double squares = 0;
    for (int i = 0; i < t->weights; i++)
        for (int64_t k = 0; k < t->weight[i].count; k++)
            squares += t->weight[i].g[k] * t->weight[i].g[k];
    return sqrt(squares);
}

static void update_muon(Weight *w, const Recipe *r, double lr, double keep, double scale) {
    int64_t rows = w->rows, columns = w->count / rows;
    double *x = take(w->count, sizeof *x), part = 1 - r->momentum;
    for (int64_t k = 0; k < w->count; k++) {
        double g = scale * w->g[k];
        w->m[k] += part * (g - w->m[k]);
        x[k] = r->nesterov ? part * g + r->momentum * w->m[k] : w->m[k];
    }
    reference_orthogonal(rows, columns, r->newton_schulz, x);
    double more = r->match_rms ? 0.2 * sqrt(fmax((double)rows, (double)columns))
                               : sqrt(fmax(1, (double)rows / (double)columns));
    for (int64_t k = 0; k < w->count; k++)
        w->p[k] = keep * w->p[k] - lr * more * x[k];
    free(x);
}

static void update(Weight *w, const Recipe *r, int64_t step, double lr, double scale) {
    OwnRecipe own = { false, 1, r->weight_decay };
    if (r->own) r->own(w->name, &own);
    lr *= own.rate;
    double keep = w->rank >= r->decay_rank ? 1 - lr * own.weight_decay : 1;
    if (!w->gradient) return;
    if (own.muon) {
        update_muon(w, r, lr, keep, scale);
        return;
    }
    double first = r->correct_bias ? 1 - pow(r->beta1, (double)step) : 1;
    double second = r->correct_bias ? 1 - pow(r->beta2, (double)step) : 1;
    for (int64_t k = 0; k < w->count; k++) {
        double g = scale * w->g[k];
        w->m[k] = r->beta1 * w->m[k] + (1 - r->beta1) * g;
        w->v[k] = r->beta2 * w->v[k] + (1 - r->beta2) * g * g;
        w->p[k] = w->p[k] * keep - lr * (w->m[k] / first) / (sqrt(w->v[k] / second) + r->eps);
    }
}

TrainerStep trainer_step(Trainer *t, const Recipe *r, const char *text, int64_t count) {
    TrainerStep s = { 0 };
    find_gradients(t, r, text, count, &s);
    t->step++;
    s.grad_norm = norm(t);
    s.lr = r->rate(r, t->step);
    double scale = fmin(1, r->clip / (s.grad_norm + 1e-6));
    for (int i = 0; i < t->weights; i++)
        update(&t->weight[i], r, t->step, s.lr, scale);
    return s;
}
