/*
** The forms of a model: as it is trained, and as it generates token by token.  Routes
** that choose among all tokens of a sequence say both with generating(), those that a
** training step runs otherwise with training().
*/
#include "plan.h"
#include "rebuild.h"

static Node *rule(Rebuild *r, const Node *old, Node **in) {
    const Form *form = r->user;
    (void)in;
    if (old->op == OP_generating) return op_fill(r->to, form->generating);
    return old->op == OP_training ? op_fill(r->to, form->training) : NULL;
}

static bool has(const Graph *g, Op op) {
    for (int i = 0; i < g->n; i++)
        if (g->node[i]->op == op) return true;
    return false;
}

bool plan_has_forms(const Graph *g) { return has(g, OP_generating); }

Graph *pass_form(Graph *g, Form form) {
    return has(g, OP_generating) || has(g, OP_training) ? pass_simplify(rebuild(g, rule, &form))
                                                        : g;
}
