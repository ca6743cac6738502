/* SPDX-License-Identifier: MIT
** Recurrences over time, and their gradients: a task has some heads of a sequence. */
#include "actions.h"

/* Operands of both, from q on. */
#define OPERAND(name) (REF(RECURRENCE, name) - REF(RECURRENCE, q))
#define GRAD(name) REF(RECURRENCE_GRAD, name)

static Recurrence recurrence_of(const Frame *f, const Action *s, int operand) {
    const RecurrenceAction *t = &s->recurrence;
    const Ref *r = &k_refs[s->ref + operand];
    Recurrence a = { .sequences = f->B,
                     .time = f->T,
                     .first = s->list ? f->list[s->list].first : 0,
                     .heads = t->heads,
                     .groups = t->groups,
                     .dk = t->dk,
                     .dv = t->dv,
                     .sums = t->sums,
                     .by_head = t->by_head };
    a.q = k_resolve(f, &r[OPERAND(q)], 0, 0), a.ldq = r[OPERAND(q)].stride;
    a.k = k_resolve(f, &r[OPERAND(k)], 0, 0), a.ldk = r[OPERAND(k)].stride;
    a.v = k_resolve(f, &r[OPERAND(v)], 0, 0), a.ldv = r[OPERAND(v)].stride;
    if (t->decay) a.decay = k_resolve(f, &r[t->decay], 0, 0), a.lddecay = r[t->decay].stride;
    if (t->rate) a.rate = k_resolve(f, &r[t->rate], 0, 0);
    if (t->beta) a.beta = k_resolve(f, &r[t->beta], 0, 0), a.ldbeta = r[t->beta].stride;
    return a;
}

static Recurrence forward_of(const Frame *f, const Action *s) {
    Recurrence a = recurrence_of(f, s, REF(RECURRENCE, q));
    const Ref *r = &k_refs[s->ref];
    a.o = k_resolve(f, r, 0, 0), a.ldo = r->stride;
    a.states = (void *const *)f->states;
    a.carried = (int64_t)sizeof(State) + s->recurrence.carry * (int64_t)sizeof(float);
    return a;
}

static Recurrence backward_of(const Frame *f, const Action *s) {
    Recurrence a = recurrence_of(f, s, REF(RECURRENCE_GRAD, q));
    const Ref *r = &k_refs[s->ref], *dout = r + s->refs - 1;
    a.dq = k_resolve(f, &r[GRAD(dq)], 0, 0), a.lddq = r[GRAD(dq)].stride;
    a.dk_ = k_resolve(f, &r[GRAD(dk)], 0, 0), a.lddk = r[GRAD(dk)].stride;
    a.dvalue = k_resolve(f, &r[GRAD(dv)], 0, 0), a.lddv = r[GRAD(dv)].stride;
    a.ddecay = k_resolve(f, &r[GRAD(ddecay)], 0, 0), a.ldddecay = r[GRAD(ddecay)].stride;
    a.dbeta = k_resolve(f, &r[GRAD(dbeta)], 0, 0), a.lddbeta = r[GRAD(dbeta)].stride;
    a.room = k_resolve(f, &r[GRAD(room)], 0, 0), a.ldroom = r[GRAD(room)].stride;
    if (a.rate) a.drate = k_resolve(f, &r[GRAD(drate)], 0, 0);
    a.dout = k_resolve(f, dout, 0, 0), a.lddout = dout->stride;
    return a;
}

int64_t k_count_recurrence(const GlobalWork *w, const Action *s) {
    const Frame *f = w->f;
    if (s->what == DO_RECURRENCE) {
        Recurrence a = recurrence_of(f, s, REF(RECURRENCE, q));
        return k_recurrence_tasks(&a);
    }
    Recurrence a = backward_of(f, s);
    return k_recurrence_grad_tasks(&a);
}

/* A model without any has none of its kernels. */
void k_run_recurrence(const GlobalWork *w, const Action *s) {
    const Frame *f = w->f;
    int64_t task = w->task;
    int32_t worker = w->worker;
    if (!k_constants.recurrent_keys) return;
    Recurrence a = s->what == DO_RECURRENCE ? forward_of(f, s) : backward_of(f, s);
    if (s->what == DO_RECURRENCE) k_recurrence(&a, task, frame_scratch(f, worker));
    else if (k_constants.recurrent_back) k_recurrence_grad(&a, task, frame_scratch(f, worker));
}
