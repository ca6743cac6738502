/*
** Where parameters lie, in WEIGHTS and among the gradients in TRAIN, and what becomes of their
** gradients: after which phase they are final, and which of them start as zeros.
*/
#include "tables.h"
#include "fatal.h"

#include <stdlib.h>

/* == Places =============================================================== */

int params_number(const WeightLayout *l, const Node *n) {
    return n->op == OP_param ? name_table_find(&l->number, n->attr->name) : -1;
}

int64_t params_at(const WeightLayout *l, const char *name) {
    int param = name_table_find(&l->number, name), input = name_table_find(&l->input_number, name);
    return param >= 0 ? l->param[param].at : input >= 0 ? l->input[input].at : -1;
}

bool params_bf16(const WeightLayout *l, const Node *n) {
    int i = l->some_bf16 ? params_number(l, n) : -1;
    return i >= 0 && l->param[i].bf16;
}

/* The phase after which nothing is added to a parameter's gradient any more. */
static int final_phase(const Plan *p, const char *name) {
    Pieces of = plan_pieces(p, name);
    int last = 0;
    for (int i = of.first; i < of.first + of.count; i++) {
        int step = p->step_of[p->part[i].node->id];
        int phase = step < 0 ? p->nphase - 1 : p->step[step].phase;
        if (phase > last) last = phase;
    }
    return last;
}

static int by_finality(const void *x, const void *y) {
    const ParamPlace *a = x, *b = y;
    if (a->buffer != b->buffer) return a->buffer - b->buffer;
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
    bool *as_bf16 = t->bytes.constants.bf16 && t->inference
        ? weights_as_bf16(g, probe ? probe->graph : NULL)
        : NULL;
    for (int i = 0; i < g->nparam; i++) {
        const Node *n = g->param[i].node;
        int64_t count = shape_count(&n->shape);
        bool bf16 = as_bf16 && as_bf16[i];
        l->param[i] = (ParamPlace){ .name = n->attr->name,
                                    .floats = bf16 ? (count + 1) / 2 : count,
                                    .number = i,
                                    .tensors = (int)param_tensors(n),
                                    .phase = !training    ? 0
                                        : n->attr->buffer ? training->nphase - 1
                                                          : final_phase(training, n->attr->name),
                                    .bf16 = bf16,
                                    .buffer = n->attr->buffer };
    }
    free(as_bf16);
    qsort(l->param, (size_t)l->nparam, sizeof *l->param, by_finality);
    for (int i = 0; i < l->nparam; i++) {
        l->param[i].at = l->weights;
        if (!l->param[i].buffer) t->bytes.constants.trained = l->weights + l->param[i].floats;
        name_table_add(&l->number, l->param[i].name, i);
        l->some_bf16 |= l->param[i].bf16;
        l->weights += round_up(l->param[i].floats, LINE_FLOATS);
        l->param[i].tensor = l->tensors;
        l->tensors += l->param[i].tensors;
        for (int k = 0; k < l->param[i].tensors; k++)
            *(Repacked *)list_add(&t->bytes.repacked, sizeof(Repacked)) = (Repacked){ -1, -1 };
    }
    l->weights_probe = t->bytes.constants.gradients = l->weights;
}

/* The probe's inputs lie behind the model's weights. */
void params_place_inputs(WeightLayout *l, const Graph *probe) {
    l->input = new_places(probe->nparam);
    for (int i = 0; i < probe->nparam; i++) {
        const Node *n = probe->param[i].node;
        if (params_at(l, n->attr->name) >= 0) continue;
        name_table_add(&l->input_number, n->attr->name, l->ninput);
        l->input[l->ninput++] = (ParamPlace){ .name = n->attr->name, .at = l->weights_probe };
        l->weights_probe += round_up(shape_count(&n->shape), LINE_FLOATS);
    }
}

/* == Gradients ============================================================ */

/* Where the parameter behind number i begins, or all end. */
static int64_t next_at(const WeightLayout *l, int i) {
    return i + 1 < l->nparam ? l->param[i + 1].at : l->weights;
}

/* The first parameter, in order, whose gradient is final after the phase or a later one. */
static int first_of_phase(const WeightLayout *l, int phase) {
    int low = 0, high = l->nparam;
    while (low < high) {
        int middle = (low + high) / 2;
        if (l->param[middle].phase >= phase) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* Gradients whose last piece was added in a phase, as a range. */
void params_final(const WeightLayout *l, int phase, Stage *s) {
    int from = first_of_phase(l, phase), to = first_of_phase(l, phase + 1);
    if (from == to) return;
    s->final_first = l->param[from].at;
    s->final_count = next_at(l, to - 1) - s->final_first;
}

/* Whether a weight gradient is what is added first to a parameter's.  One that two parameters
** share is computed elsewhere and added to both. */
bool params_first(const Plan *p, const Node *n) {
    const Buffer *b = p->buffer[n->id];
    int part = p->part_of[n->id];
    return b && b->space == SPACE_GRADIENT && part >= 0
        && p->pieces[p->part[part].param->id].earliest == p->step_of[n->id];
}

/* The product that overwrites a parameter's gradient; NULL: there is none. */
static const Node *overwriter(const Plan *p, const char *name) {
    Pieces of = plan_pieces(p, name);
    for (int i = of.first; i < of.first + of.count; i++) {
        const Node *n = p->part[i].node;
        if (op_info[n->op].class == OUTER && params_first(p, n)) return n;
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
