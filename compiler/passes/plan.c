/* SPDX-License-Identifier: MIT
** Where the values of a plan lie, for everything that reads a plan.
*/
#include "plan.h"

const Node *plan_storage(const Node *n) {
    while (n->op == OP_reshape)
        n = n->in[0];
    return n;
}

bool plan_turned(const Node *n) {
    n = plan_storage(n);
    return n->op == OP_transpose && plan_storage(n->in[0])->op == OP_param;
}

Buffer *plan_buffer(const Plan *p, const Node *n) { return p->buffer[plan_storage(n)->id]; }

Pieces plan_pieces(const Plan *p, const char *param) {
    const Param *of = graph_find_param(p->g, param);
    return of ? p->pieces[of->node->id] : (Pieces){ 0 };
}
