/*
** Where parameters lie, in WEIGHTS and among the gradients in TRAIN, and what becomes of their
** gradients: after which phase they are final, and which of them start as zeros.
*/
#include "tables.h"

#include <stdlib.h>
#include <string.h>

/* == Places =============================================================== */

int params_number(const Tables *t, const Node *n) {
    for (int i = 0; n->op == OP_param && i < t->nparam; i++)
        if (!strcmp(t->param[i], n->attr.name)) return i;
    return -1;
}

int64_t params_at(const Tables *t, const char *name) {
    for (int i = 0; i < t->nparam; i++)
        if (!strcmp(t->param[i], name)) return t->param_at[i];
    for (int i = 0; i < t->ninput; i++)
        if (!strcmp(t->input[i], name)) return t->input_at[i];
    return -1;
}

bool params_half(const Tables *t, const Node *n) {
    int i = t->constants.bf16 && t->inference ? params_number(t, n) : -1;
    return i >= 0 && t->param_half[i];
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

typedef struct Place {
    int phase, order;
    const char *name;
    int64_t floats;
    bool half;
} Place;

static int by_finality(const void *x, const void *y) {
    const Place *a = x, *b = y;
    return a->phase != b->phase ? a->phase - b->phase : a->order - b->order;
}

/* Weights lie in the order in which their gradients become final, each tensor
** on a cache line. */
void params_place(Tables *t, const Graph *g, const Plan *training) {
    Place *place = calloc((size_t)g->nparam + 1, sizeof *place);
    const ProbeGraph *probe = t->info->probe;
    for (int i = 0; i < g->nparam; i++) {
        const Node *n = g->param[i].node;
        int64_t count = shape_count(&n->shape);
        bool half = t->constants.bf16 && t->inference
            && weight_is_half(g, probe ? probe->graph : NULL, n);
        place[i] = (Place){ training ? final_phase(training, n->attr.name) : 0, i, n->attr.name,
                            half ? (count + 1) / 2 : count, half };
    }
    qsort(place, (size_t)g->nparam, sizeof *place, by_finality);
    t->nparam = g->nparam;
    t->param = calloc((size_t)g->nparam + 1, sizeof *t->param);
    t->param_at = calloc((size_t)g->nparam + 1, sizeof *t->param_at);
    t->param_phase = calloc((size_t)g->nparam + 1, sizeof *t->param_phase);
    t->param_half = calloc((size_t)g->nparam + 1, sizeof *t->param_half);
    t->kept = calloc((size_t)g->nparam + 1, sizeof *t->kept);
    for (int i = 0; i < g->nparam; i++) {
        t->kept[i] = (Kept){ -1, -1 };
        t->param[i] = place[i].name;
        t->param_at[i] = t->weights;
        t->param_phase[i] = place[i].phase;
        t->param_half[i] = place[i].half;
        t->weights += round_up(place[i].floats, LINE_FLOATS);
    }
    t->constants.gradients = t->weights;
    free(place);
}

/* The probe's inputs lie behind the model's weights. */
void params_place_inputs(Tables *t, const Graph *probe) {
    t->input = calloc((size_t)probe->nparam + 1, sizeof *t->input);
    t->input_at = calloc((size_t)probe->nparam + 1, sizeof *t->input_at);
    for (int i = 0; i < probe->nparam; i++) {
        const Node *n = probe->param[i].node;
        if (params_at(t, n->attr.name) >= 0) continue;
        t->input[t->ninput] = n->attr.name;
        t->input_at[t->ninput++] = t->weights_probe;
        t->weights_probe += round_up(shape_count(&n->shape), LINE_FLOATS);
    }
}

/* == Gradients ============================================================ */

/* Gradients whose last piece was added in a phase, as a range. */
void params_final(const Tables *t, int phase, Stage *s) {
    int64_t first = -1, end = -1;
    for (int i = 0; i < t->nparam; i++) {
        if (t->param_phase[i] != phase) continue;
        if (first < 0) first = t->param_at[i];
        end = i + 1 < t->nparam ? t->param_at[i + 1] : t->weights;
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

static void add_span(Tables *t, int64_t first, int64_t end) {
    Span *last = t->span.n ? &LIST(t->span, Span, t->span.n - 1) : NULL;
    if (first == end) return;
    if (last && last->first + last->count == first) last->count += end - first;
    else *(Span *)list_add(&t->span, sizeof(Span)) = (Span){ first, end - first };
}

/* What products overwrite needs no zeros, but what lies between the parameters does: it is read
** too. */
void params_start(Tables *t, const Plan *training) {
    for (int i = 0; i < t->nparam; i++) {
        const Node *n = overwriter(training, t->param[i]);
        add_span(t, t->param_at[i] + (n ? shape_count(&n->shape) : 0),
                 i + 1 < t->nparam ? t->param_at[i + 1] : t->weights);
    }
    t->constants.spans = t->span.n;
}
