/* SPDX-License-Identifier: MIT
** Lets training share kernels with evaluation and generation.  A training step computes some rows
** earlier than the forward part needs them, because its backward part reads their operands.  It
** also stores what a kernel summed up for the backward part, such as the scores of a depth read.
** Without these differences the programs could share kernels; with them, a second kernel would be
** compiled.  The schedules of the other programs therefore compute these rows as early, and their
** memory plans store these sums too, if they are small.
*/
#include "passes.h"

/* The most searches for anchors that training lacks; each search visits its whole forward part. */
enum { MISSES = 100 };

typedef struct Search {
    Graph *training;
    Node **twin; /* by id: the same in the training step's graph; NULL: there is none */
    Node **in;   /* room for the operands of any node */
    int next;    /* in that graph: behind the last anchor that is a twin */
    int misses;
} Search;

static bool is_anchor(const Node *n) {
    Class c = op_info[n->op].class;
    return !class_is_row(c) && c != SOURCE && c != SIDE;
}

/* Anchors whose operands or results have another precision than in training, such as attention to
** rounded keys, are matched by their order. */
static Node *next_anchor(Search *a, const Node *x) {
    for (int i = a->next; a->misses < MISSES && i < a->training->n; i++) {
        Node *n = a->training->node[i];
        if (n->backward) break;
        if (n->op == x->op && n->site == x->site && shape_equal(&n->shape, &x->shape)) return n;
    }
    a->misses++;
    return NULL;
}

static Node *find_twin(Search *a, const Node *x) {
    bool known = true;
    for (int k = 0; k < x->nin; k++) {
        a->in[k] = a->twin[x->in[k]->id];
        known &= a->in[k] != NULL;
    }
    Node *n = known ? node_known(a->training, x->op, x->nin, a->in, x->attr) : NULL;
    if (!is_anchor(x)) return n;
    if (!n) n = next_anchor(a, x);
    if (n && n->id >= a->next) a->next = n->id + 1;
    return n;
}

/* By id of the training step's nodes: after the step that computes a node comes the twin of this
** anchor of 'g', the next one of the forward part; NULL if there is none. */
static const Node **find_before(Graph *g, const Plan *training, Node *const *twin) {
    size_t n = (size_t)training->g->n + 1;
    const Node **of = graph_scratch(g, n * sizeof *of),
               **before = graph_scratch(g, n * sizeof *before), *next = NULL;
    for (int i = 0; i < g->n; i++)
        if (twin[i]) of[twin[i]->id] = g->node[i];
    for (int i = training->nstep; i-- > 0;) {
        const Step *s = &training->step[i];
        if (s->kind == STEP_ANCHOR && !s->anchor->backward && of[s->anchor->id])
            next = of[s->anchor->id];
        for (int k = 0; s->kind == STEP_ROW && k < s->n; k++)
            before[s->node[k]->id] = next;
    }
    return before;
}

Alike *pass_alike(Graph *g, const Plan *training) {
    size_t n = (size_t)g->n + 1;
    Alike *alike = graph_alloc(g, sizeof *alike);
    Search a = { .training = training->g };
    a.twin = graph_scratch(g, n * sizeof *a.twin);
    a.in = graph_scratch(g, ((size_t)graph_most_operands(g) + 1) * sizeof *a.in);
    alike->stored = graph_alloc(g, n);
    alike->before = graph_alloc(g, n * sizeof *alike->before);
    for (int i = 0; i < g->n; i++) {
        const Node *x = g->node[i];
        const Node *twin = a.twin[i] = find_twin(&a, x);
        alike->stored[i] = twin && op_info[x->op].class != VIEW && training->buffer[twin->id];
    }
    const Node **before = find_before(g, training, a.twin);
    for (int i = 0; i < g->n; i++)
        if (a.twin[i]) alike->before[i] = before[a.twin[i]->id];
    return alike;
}
