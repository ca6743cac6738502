/* SPDX-License-Identifier: MIT
** What a step reads from memory. */
#include "graph_drawing.h"

void graph_for_reads(const Drawing *d, int step, void (*f)(void *user, const Node *n), void *user) {
    const Step *s = &d->p->step[step];
    if (s->kind == STEP_ANCHOR || s->kind == STEP_REDUCE) {
        for (int i = 0; i < s->anchor->nin; i++)
            f(user, s->anchor->in[i]);
        return;
    }
    const Rows *r = rows_analyse(d->p, step, d->r->planned.lanes, d->shared);
    for (int i = 0; i < r->nvalue; i++)
        if (r->value[i].lies.operand >= 0 && !r->value[i].here) f(user, r->value[i].n);
}
