/* SPDX-License-Identifier: MIT
** Chooses the form of a program: of the model as it trains or as it generates token by token, and
** of a training step or of the other programs.  A spec distinguishes them with generating() and
** training(), for example in a route that can choose among all tokens of a sequence only in
** training; this pass replaces both by numbers.  It also replaces decoding(), which distinguishes
** two ways to compute the same numbers: the program with caches has its own way, although the
** model generates as it trains.
*/
#include "passes.h"
#include "rebuild.h"

static Node *form_rule(Rebuild *r, const Node *old, Node **in) {
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
    return plan_has_decoding(g) || has(g, OP_training) ? pass_simplify(rebuild(g, form_rule, &form))
                                                       : g;
}
