/*
** Chooses the form of a program: of a model as it is trained or as it generates token by token,
** of a training step or of the others.  A spec tells them apart with generating() and training(),
** such as a route that can choose among all tokens of a sequence only while it is trained; here
** both become numbers.
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
