/* SPDX-License-Identifier: MIT
** Depth mixing of a trained model, with the sources that a real text gives.  The float64
** interpreter runs the model on a few windows spread over the text, and mixing.c gets the sources
** that it computed.  The amount of work limits the number of tokens.
*/
#include "mixing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "tokenizer_file.h"
#include "tokenizer_identity.h"

enum { TOKENS = 64, WINDOW = 32 };
#define WORK 2e9    /* operations of running the model */
#define NUMBERS 4e5 /* of the sources, all together */

typedef struct TrainedModel {
    const Model *m;
    Safetensors weights;
    Tokenizer tokenizer;
    Data all, text; /* text: a view */
    int batch, time;
    int32_t *token; /* [batch, time] */
    double **value; /* parameters by id in the model's graph, for the run */
    Graph *graph;   /* the model's, sources as outputs */
    Node **twin;    /* by id in the model's graph: the node there */
    Eval *run;
    Error *e;
} TrainedModel;

/* == The text ============================================================= */

static int open_tokenizer(TrainedModel *x) {
    const TokenizerKind *kind;
    const CarriedFile *f = &x->m->tokenizer_file;
    if (!x->m->tokenizer || !*x->m->tokenizer) return STATUS_OK; /* tokens need none */
    if (f->bytes) {
        int status = tokenizer_parse(&x->tokenizer, x->m->tokenizer, f->bytes, f->size, x->e);
        if (status) return status;
        tokenizer_called(&x->tokenizer, x->m->tokenizer, f->sha256);
        return tokenizer_expect(&x->weights, &x->tokenizer, x->e);
    }
    int status = tokenizer_kind(x->m->tokenizer, &kind, x->e);
    return status ? status : tokenizer_load(&x->tokenizer, kind, x->m->vocab, &x->weights, x->e);
}

static int open_text(TrainedModel *x, const MixingText *text) {
    DataFiles f;
    Data rest = { 0 };
    int status = data_files_open(&f, &text->words, x->e);
    if (status) return status;
    for (int i = 0; i < f.words; i++)
        f.word[i].weight = 0; /* looked at one after another, however often training took which */
    status = data_tokens(&x->all, &f, &x->tokenizer, x->m->vocab, false, x->e);
    data_files_free(&f);
    if (!status)
        status = text->share < 1 ? data_split(&x->all, text->share, &rest, &x->text, x->e)
                                 : data_split(&x->all, 0, &x->text, &rest, x->e);
    data_free(&rest);
    return status ? status : data_enough(&x->text, text->words.option, 1, x->e);
}

/* As many whole windows as the work allows, the first tokens of equal parts of the text. */
static int take_windows(TrainedModel *x) {
    const Model *m = x->m;
    double most = fmin(WORK / (2.0 * (double)m->parameters), NUMBERS / ((double)m->dim * m->nread));
    int tokens = (int)fmin(TOKENS, most);
    int64_t count = data_count(&x->text);
    double longest = fmin(fmin(WINDOW, (double)m->context), (double)(count - 1));
    x->time = (int)fmin(longest, tokens > 1 ? tokens : 1);
    int64_t windows = (count - 1) / x->time, had;
    x->batch = (int)fmin(tokens > x->time ? tokens / x->time : 1, (double)windows);
    size_t n = (size_t)x->batch * (size_t)x->time;
    x->token = calloc(n, sizeof *x->token);
    int32_t *target = calloc(n, sizeof *target);
    int status = x->token && target ? STATUS_OK
                                    : error_memory(x->e, "depth mixing", n * sizeof *target);
    for (int b = 0; !status && b < x->batch; b++)
        status = data_window(&x->text, 0, x->time, b * windows / x->batch, x->token + b * x->time,
                             target, &had, x->e);
    free(target);
    return status;
}

/* == The run ============================================================== */

static double *read_param(void *user, const Node *p) {
    TrainedModel *x = user;
    const Tensor *t = safetensors_find(&x->weights, p->attr->name);
    int64_t count = shape_count(&p->shape);
    if (!t || t->count != count)
        return error_set(x->e, STATUS_INTERNAL,
                         "%s: expected %s with %lld numbers, found another file", x->weights.path,
                         p->attr->name, (long long)count),
               NULL;
    double *v = malloc(((size_t)count + 1) * sizeof *v);
    if (!v) return error_memory(x->e, x->weights.path, (size_t)count * sizeof *v), NULL;
    if (!safetensors_read_f64(&x->weights, t, v, x->e)) return v;
    free(v);
    return NULL;
}

static int read_params(TrainedModel *x) {
    const Graph *g = x->graph;
    x->value = calloc((size_t)g->n + 1, sizeof *x->value);
    if (!x->value) return error_memory(x->e, "depth mixing", (size_t)g->n * sizeof *x->value);
    for (int i = 0; i < g->nparam; i++) {
        int id = g->param[i].node->id;
        x->value[id] = read_param(x, g->param[i].node);
        if (!x->value[id]) return x->e->status;
    }
    return STATUS_OK;
}

static const double *param_of(void *user, const Node *p) {
    return ((const TrainedModel *)user)->value[p->id];
}

/* Of a layer that works on some tokens: at those, 0 at the others. */
static Node *at_tokens(const TrainedModel *x, int source) {
    const Node *n = x->m->source[source];
    Node *twin = n ? x->twin[n->id] : NULL;
    return twin && twin->shape.list ? op_scatter(twin, graph_list(x->graph, twin->shape.list))
                                    : twin;
}

static int make_graph(TrainedModel *x) {
    static const char *const outputs[] = { "logits", NULL };
    const Model *m = x->m;
    x->twin = calloc((size_t)m->graph->n + 1, sizeof *x->twin);
    if (!x->twin) return error_memory(x->e, "depth mixing", (size_t)m->graph->n * sizeof *x->twin);
    x->graph = graph_extract_twins(m->graph, outputs, x->twin);
    for (int s = 0; s < m->nsource; s++) {
        char name[32];
        Node *n = at_tokens(x, s);
        print_text(name, sizeof name, "source %d", s);
        if (n) graph_output(x->graph, name, n);
    }
    return STATUS_OK;
}

static int trained_run(TrainedModel *x) {
    int status = make_graph(x);
    if (!status) status = read_params(x);
    if (status) return status;
    EvalInput in = { .batch = x->batch,
                     .time = x->time,
                     .tokens = x->token,
                     .param = param_of,
                     .user = x,
                     .seed = 1 };
    x->run = eval_new(x->graph, &in);
    return STATUS_OK;
}

/* A source that nothing depends on is taken with weight 0, whatever it is. */
static double *source_of(void *user, int s) {
    const TrainedModel *x = user;
    size_t n = (size_t)x->batch * (size_t)x->time * (size_t)x->m->dim;
    char name[32];
    print_text(name, sizeof name, "source %d", s);
    const Node *node = graph_find(x->graph, name);
    double *v = calloc(n + 1, sizeof *v);
    if (v && node) memcpy(v, eval_value(x->run, node), n * sizeof *v);
    return v;
}

/* Copies, which mixing.c frees; what the logits do not need is no part of a read. */
static double *copy_param(void *user, const Node *p) {
    const TrainedModel *x = user;
    size_t n = (size_t)shape_count(&p->shape);
    const Node *twin = x->twin[p->id];
    double *v = calloc(n + 1, sizeof *v);
    if (v && twin) memcpy(v, x->value[twin->id], n * sizeof *v);
    return v;
}

/* == All of it ============================================================ */

static void trained_end(TrainedModel *x) {
    for (int i = 0; x->value && i < x->graph->n; i++)
        free(x->value[i]);
    if (x->run) eval_free(x->run);
    if (x->graph) graph_free(x->graph);
    free(x->value);
    free(x->twin);
    free(x->token);
    data_free(&x->text);
    data_free(&x->all);
    tokenizer_free(&x->tokenizer);
    safetensors_close(&x->weights);
}

Mixing *mixing_trained(const Model *m, const char *weights, const MixingText *text, Error *e) {
    TrainedModel x = { .m = m, .e = e };
    Mixing *found = NULL;
    int status = safetensors_open(&x.weights, weights, e);
    if (status) return NULL;
    status = open_tokenizer(&x);
    if (!status) status = open_text(&x, text);
    if (!status) status = take_windows(&x);
    if (!status) status = trained_run(&x);
    const MixingInput in = { .batch = x.batch,
                             .time = x.time,
                             .seed = MIXING_SEED,
                             .param = copy_param,
                             .source = source_of,
                             .user = &x };
    if (!status) found = mixing_measure_input(m, &in, e);
    trained_end(&x);
    return found;
}
