/* SPDX-License-Identifier: MIT
** Where parameters lie in WEIGHTS, and their gradients in TRAIN; after which phase each gradient
** is final, and which gradients start as zeros.
*/
#include "tables.h"
#include "fatal.h"
#include "small_weights.h"

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

int params_small(const WeightLayout *l, const Node *n) {
    int i = l->some_small ? params_number(l, n) : -1;
    return i >= 0 ? l->param[i].bits : 0;
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
    if (a->frozen != b->frozen) return a->frozen - b->frozen;
    if (a->buffer != b->buffer) return a->buffer - b->buffer;
    return a->phase != b->phase ? a->phase - b->phase : a->number - b->number;
}

static ParamPlace *new_places(int n) { return checked_new((size_t)n + 1, sizeof(ParamPlace)); }

/* Phases after which a gradient is final; of what is frozen, after the last one. */
static int place_phase(const Plan *training, const Param *p) {
    if (!training) return 0;
    if (p->tuning.frozen) return training->nphase;
    return p->node->attr->buffer ? training->nphase - 1
                                 : final_phase(training, p->node->attr->name);
}

/* What a parameter takes, in floats; of small weights each matrix begins on a line. */
static int64_t floats_of(const Shape *s, bool bf16, int bits) {
    int64_t count = shape_count(s);
    if (!bits) return bf16 ? (count + 1) / 2 : count;
    const int64_t *matrix = s->dim + s->rank - 2;
    return count / (matrix[0] * matrix[1]) * small_bytes(matrix[0], matrix[1], bits)
        / (int64_t)sizeof(float);
}

static ParamPlace place_new(const Graph *g, int i, const Plan *training, bool bf16, int bits) {
    const Param *p = &g->param[i];
    bf16 &= !bits;
    return (ParamPlace){ .name = p->node->attr->name,
                         .floats = floats_of(&p->node->shape, bf16, bits),
                         .bits = bits,
                         .number = i,
                         .tensors = (int)param_tensors(p->node),
                         .phase = place_phase(training, p),
                         .bf16 = bf16,
                         .buffer = p->node->attr->buffer,
                         .frozen = p->tuning.frozen };
}

/* What Muon needs to work on a matrix of a parameter. */
static int64_t muon_floats(const Tables *t, const Graph *g, const ParamPlace *p) {
    const Node *n = g->param[p->number].node;
    const Shape s = param_tensor_shape(n);
    if (s.rank != 2) bug(n, "is trained by Muon and no matrix");
    return muon_room(s.dim[0], s.dim[1], 2 * t->rates.lanes,
                     t->rates.parts ? PACKED_PARTS : PACKED_FLOATS)
        .floats;
}

/* The next place in WEIGHTS, among gradients and moments. */
static void place_next(Tables *t, ParamPlace *p, const Graph *g) {
    const Tuning *how = &g->param[p->number].tuning;
    WeightLayout *l = &t->layout;
    Constants *c = &t->bytes.constants;
    int64_t room = round_up(p->floats, LINE_FLOATS);
    p->at = l->weights;
    l->weights += room;
    l->some_bf16 |= p->bf16;
    l->some_small |= p->bits > 0;
    p->tensor = l->tensors;
    l->tensors += p->tensors;
    for (int k = 0; k < p->tensors; k++)
        *(Repacked *)list_add(&t->bytes.repacked, sizeof(Repacked)) = (Repacked){ -1, -1 };
    p->second = p->frozen || how->muon ? -1 : c->second_moments;
    if (p->second >= 0) c->second_moments += room;
    if (p->frozen) return;
    if (how->muon && !t->inference) c->muon_floats = max64(c->muon_floats, muon_floats(t, g, p));
    c->gradients = l->weights;
    if (!p->buffer) c->trained = p->at + p->floats;
}

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
    int *bits = t->small ? small_bits(g, probe ? probe->graph : NULL, t->small) : NULL;
    for (int i = 0; i < g->nparam; i++)
        l->param[i] = place_new(g, i, training, as_bf16 && as_bf16[i], bits ? bits[i] : 0);
    free(as_bf16), free(bits);
    qsort(l->param, (size_t)l->nparam, sizeof *l->param, by_finality);
    for (int i = 0; i < l->nparam; i++) {
        name_table_add(&l->number, l->param[i].name, i);
        place_next(t, &l->param[i], g);
    }
    l->weights_probe = l->weights;
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
    for (int i = 0; i < l->nparam && !l->param[i].frozen; i++) {
        const Node *n = overwriter(training, l->param[i].name);
        add_span(&t->bytes.span, l->param[i].at + (n ? shape_count(&n->shape) : 0), next_at(l, i));
    }
    t->bytes.constants.spans = t->bytes.span.n;
}
