/* SPDX-License-Identifier: MIT
** See work.h. */
#include "work.h"

const Node *work_owner(const Node *n) { return op_info[n->op].class == SIDE ? n->in[0] : n; }

int work_step(const Plan *p, const Node *n) { return p->step_of[work_owner(plan_storage(n))->id]; }

static const Node *work_last_of(const Step *s) {
    return s->kind == STEP_ROW || s->kind == STEP_UNIFORM ? s->n ? s->node[s->n - 1] : NULL
                                                          : s->anchor;
}

const char *work_site(const Step *s) {
    const Node *n = work_last_of(s);
    return n && n->site ? n->site : "model";
}

int work_backward(const Plan *p) {
    for (int i = 0; i < p->nstep; i++) {
        const Node *n = p->step[i].kind == STEP_ANCHOR ? p->step[i].anchor : NULL;
        if (n && n->backward) return i;
    }
    return p->nstep;
}
