/* SPDX-License-Identifier: MIT
** Kernels that training shares with evaluation and generation.  A training step stores for its
** backward part what a kernel summed up, such as the scores of a depth read; a kernel that does not
** is another one, compiled beside it.  So the memory plan of the others stores that, too, where it
** is little.
*/
#include "plan.h"

/* So many searches for anchors that training lacks: each goes through its whole forward part. */
enum { MISSES = 100 };

typedef struct Alike {
    Graph *training;
    Node **twin; /* by id: the same in the training step's graph; NULL: there is none */
    Node **in;   /* room for the operands of any node */
    int next;    /* in that graph: behind the last anchor that is a twin */
    int misses;
} Alike;

static bool is_anchor(const Node *n) {
    Class c = op_info[n->op].class;
    return !class_is_row(c) && c != SOURCE && c != SIDE;
}

/* Anchors that take or give another precision than in training, such as attention to rounded keys,
** go by their order. */
static Node *next_anchor(Alike *a, const Node *x) {
    for (int i = a->next; a->misses < MISSES && i < a->training->n; i++) {
        Node *n = a->training->node[i];
        if (n->backward) break;
        if (n->op == x->op && n->site == x->site && shape_equal(&n->shape, &x->shape)) return n;
    }
    a->misses++;
    return NULL;
}

static Node *find_twin(Alike *a, const Node *x) {
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

void pass_alike(Plan *p, const Plan *training) {
    Graph *g = p->g;
    size_t n = (size_t)g->n + 1;
    Alike a = { .training = training->g };
    a.twin = graph_scratch(g, n * sizeof *a.twin);
    a.in = graph_scratch(g, ((size_t)graph_most_operands(g) + 1) * sizeof *a.in);
    p->alike = graph_alloc(g, n);
    for (int i = 0; i < g->n; i++) {
        const Node *x = g->node[i];
        const Node *twin = a.twin[i] = find_twin(&a, x);
        p->alike[i] = twin && op_info[x->op].class != VIEW && training->buffer[twin->id];
    }
}
