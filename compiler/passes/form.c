/* SPDX-License-Identifier: MIT
** Chooses the form of a program: of a model as it is trained or as it generates token by token,
** of a training step or of the others.  A spec tells them apart with generating() and training(),
** such as a route that can choose among all tokens of a sequence only while it is trained; here
** both become numbers.  So does decoding(), which tells apart two ways to the same numbers: the
** model does not generate otherwise than it is trained, but the program with caches is one of its
** own.
*/
#include "passes.h"
#include "rebuild.h"

static Node *rule(Rebuild *r, const Node *old, Node **in) {
    const Form *form = r->user;
    (void)in;
    if (old->op == OP_generating) return op_fill(r->to, form->generating);
    if (old->op == OP_decoding) return op_fill(r->to, form->decoding);
    return old->op == OP_training ? op_fill(r->to, form->training) : NULL;
}

static bool has(const Graph *g, Op op) {
    for (int i = 0; i < g->n; i++)
        if (g->node[i]->op == op) return true;
    return false;
}

bool plan_has_forms(const Graph *g) { return has(g, OP_generating); }
bool plan_has_decoding(const Graph *g) { return has(g, OP_generating) || has(g, OP_decoding); }

Graph *pass_form(Graph *g, Form form) {
    return plan_has_decoding(g) || has(g, OP_training) ? pass_simplify(rebuild(g, rule, &form)) : g;
}
