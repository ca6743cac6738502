/*
** Where parameters lie, in WEIGHTS and among the gradients in TRAIN, and what becomes of their
** gradients: after which phase they are final, and which of them start as zeros.
*/
#include "tables.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

/* == Places =============================================================== */

int params_number(const WeightLayout *l, const Node *n) {
    for (int i = 0; n->op == OP_param && i < l->nparam; i++)
        if (!strcmp(l->param[i].name, n->attr.name)) return i;
    return -1;
}

int64_t params_at(const WeightLayout *l, const char *name) {
    for (int i = 0; i < l->nparam; i++)
        if (!strcmp(l->param[i].name, name)) return l->param[i].at;
    for (int i = 0; i < l->ninput; i++)
        if (!strcmp(l->input[i].name, name)) return l->input[i].at;
    return -1;
}

bool params_bf16(const WeightLayout *l, const Node *n) {
    int i = l->some_bf16 ? params_number(l, n) : -1;
    return i >= 0 && l->param[i].bf16;
}

/* The phase after which nothing is added to a parameter's gradient any more. */
static int final_phase(const Plan *p, const char *name) {
    int last = 0;
    for (int i = 0; i < p->npart; i++) {
        if (strcmp(p->part[i].param->attr.name, name)) continue;
        int step = p->step_of[p->part[i].node->id];
        int phase = step < 0 ? p->nphase - 1 : p->step[step].phase;
        if (phase > last) last = phase;
    }
    return last;
}

static int by_finality(const void *x, const void *y) {
    const ParamPlace *a = x, *b = y;
    return a->phase != b->phase ? a->phase - b->phase : a->number - b->number;
}

static ParamPlace *new_places(int n) { return checked_new((size_t)n + 1, sizeof(ParamPlace)); }

/* Weights lie in the order in which their gradients become final, each tensor
** on a cache line. */
void params_place(Tables *t, const Graph *g, const Plan *training) {
    const ProbeGraph *probe = t->info->probe;
    WeightLayout *l = &t->layout;
    l->param = new_places(g->nparam);
    l->nparam = g->nparam;
    for (int i = 0; i < g->nparam; i++) {
        const Node *n = g->param[i].node;
        int64_t count = shape_count(&n->shape);
        bool bf16 = t->bytes.constants.bf16 && t->inference
            && weight_is_bf16(g, probe ? probe->graph : NULL, n);
        l->param[i] = (ParamPlace){ .name = n->attr.name,
                                    .floats = bf16 ? (count + 1) / 2 : count,
                                    .number = i,
                                    .phase = training ? final_phase(training, n->attr.name) : 0,
                                    .bf16 = bf16 };
    }
    qsort(l->param, (size_t)l->nparam, sizeof *l->param, by_finality);
    for (int i = 0; i < l->nparam; i++) {
        l->param[i].at = l->weights;
        l->some_bf16 |= l->param[i].bf16;
        l->weights += round_up(l->param[i].floats, LINE_FLOATS);
        *(Repacked *)list_add(&t->bytes.repacked, sizeof(Repacked)) = (Repacked){ -1, -1 };
    }
    l->weights_probe = t->bytes.constants.gradients = l->weights;
}

/* The probe's inputs lie behind the model's weights. */
void params_place_inputs(WeightLayout *l, const Graph *probe) {
    l->input = new_places(probe->nparam);
    for (int i = 0; i < probe->nparam; i++) {
        const Node *n = probe->param[i].node;
        if (params_at(l, n->attr.name) >= 0) continue;
        l->input[l->ninput++] = (ParamPlace){ .name = n->attr.name, .at = l->weights_probe };
        l->weights_probe += round_up(shape_count(&n->shape), LINE_FLOATS);
    }
}

/* == Gradients ============================================================ */

/* Where the parameter behind number i begins, or all end. */
static int64_t next_at(const WeightLayout *l, int i) {
    return i + 1 < l->nparam ? l->param[i + 1].at : l->weights;
}

/* Gradients whose last piece was added in a phase, as a range. */
void params_final(const WeightLayout *l, int phase, Stage *s) {
    int64_t first = -1, end = -1;
    for (int i = 0; i < l->nparam; i++) {
        if (l->param[i].phase != phase) continue;
        if (first < 0) first = l->param[i].at;
        end = next_at(l, i);
    }
    if (first < 0) return;
    s->final_first = first;
    s->final_count = end - first;
}

/* Whether a weight gradient is what is added first to a parameter's.  One that two parameters
** share is computed elsewhere and added to both. */
bool params_first(const Plan *p, const Node *n) {
    const Buffer *b = p->buffer[n->id];
    const char *name = NULL;
    for (int i = 0; b && b->space == SPACE_GRADIENT && i < p->npart; i++)
        if (p->part[i].node == n) name = p->part[i].param->attr.name;
    for (int i = 0; name && i < p->npart; i++)
        if (!strcmp(p->part[i].param->attr.name, name)
            && p->step_of[p->part[i].node->id] < p->step_of[n->id])
            return false;
    return name != NULL;
}

/* The product that overwrites a parameter's gradient; NULL: there is none. */
static const Node *overwriter(const Plan *p, const char *name) {
    for (int i = 0; i < p->npart; i++) {
        const Node *n = p->part[i].node;
        if (!strcmp(p->part[i].param->attr.name, name) && n->op == OP_linear_weight
            && params_first(p, n))
            return n;
    }
    return NULL;
}

static void add_span(List *spans, int64_t first, int64_t end) {
    Span *last = spans->n ? &LIST(*spans, Span, spans->n - 1) : NULL;
    if (first == end) return;
    if (last && last->first + last->count == first) last->count += end - first;
    else *(Span *)list_add(spans, sizeof(Span)) = (Span){ first, end - first };
}

/* What products overwrite needs no zeros, but what lies between the parameters does: it is read
** too. */
void params_start(Tables *t, const Plan *training) {
    const WeightLayout *l = &t->layout;
    for (int i = 0; i < l->nparam; i++) {
        const Node *n = overwriter(training, l->param[i].name);
        add_span(&t->bytes.span, l->param[i].at + (n ? shape_count(&n->shape) : 0), next_at(l, i));
    }
    t->bytes.constants.spans = t->bytes.span.n;
}
