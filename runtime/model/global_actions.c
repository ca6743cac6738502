/* SPDX-License-Identifier: MIT
** Actions over all tokens: attention, recurrences, weight gradients, sums, choices; each is cut
** into tasks. */
#include "actions.h"
#include "guard.h"
#include "states.h"

enum { OUTER_ROWS = 512, OUTER_COLUMNS = 1024, SCATTER_COLUMNS = 64 };

static Attention attention_of(const Frame *f, const Action *s, int q, int attention_step) {
    const AttentionAction *t = &s->attention;
    Attention a = {
        .bf16 = k_constants.bf16,
        .sequences = f->B,
        .time = f->T,
        .heads = t->heads,
        .groups = t->groups,
        .dk = t->dk,
        .dv = t->dv,
        .causal = t->causal,
        .scale = t->scale,
        .pool = t->pool,
        .shaped = t->shaped,
        .share = t->share,
        .rounded = t->rounded,
        .narrow = t->narrow,
        .window = t->window,
        .softcap = t->softcap,
        .distances = t->distances,
    };
    if (s->list) a.first = f->list[s->list].first;
    if (t->keys) a.first_key = f->list[t->keys].first;
    if (s->list && t->keys) a.time = f->list[s->list].longest;
    if (s->list != t->keys) a.sees = t->keys ? f->list[t->keys].before : f->list[s->list].order;
    a.workers = f->ctx->setup.workers;
    const Ref *r = &k_refs[s->ref];
    a.q = k_resolve(f, &r[q], 0, 0), a.ldq = r[q].stride;
    a.k = k_resolve(f, &r[q + 1], 0, 0), a.ldk = r[q + 1].stride;
    a.v = k_resolve(f, &r[q + 2], 0, 0), a.ldv = r[q + 2].stride;
    if (f->states) {
        a.keys = f->keys + attention_step * f->B;
        a.values = f->values + attention_step * f->B;
        a.past = f->past + attention_step * f->B;
        a.context = cache_rows(&k_caches[t->cache], f->states[0]->context, f->states[0]->rows);
        a.ring = k_caches[t->cache].ring;
        a.kept = k_caches[t->cache].kept;
    }
    return a;
}

/* One worker takes all keys of its rows. */
static bool puts_aside(const Frame *f) {
    return f->states && f->T <= ATTENTION_FEW && f->ctx->setup.workers > 1;
}

static void set_table(const Frame *f, const Action *s, Attention *a, const Ref *table) {
    a->one_table = s->attention.one_table;
    a->by_distance = k_resolve(f, table, 0, 0);
    a->lddistance = a->one_table ? 0 : table->stride;
}

static Attention forward_of(const Frame *f, const Action *s, int attention_step) {
    Attention a = attention_of(f, s, REF(ATTENTION, q), attention_step);
    const Ref *r = &k_refs[s->ref];
    a.o = k_resolve(f, &r[REF(ATTENTION, o)], 0, 0), a.ldo = r[REF(ATTENTION, o)].stride;
    a.lse = k_resolve(f, &r[REF(ATTENTION, lse)], 0, 0), a.ldlse = r[REF(ATTENTION, lse)].stride;
    if (a.distances) set_table(f, s, &a, &r[REF(ATTENTION, by_distance)]);
    if (puts_aside(f)) {
        a.aside = f->local + f->aside, a.ldaside = f->local_floats;
        a.aside_floats = f->scratch - f->aside;
    }
    return a;
}

#define GRAD(name) REF(ATTENTION_GRAD, name)

static Attention backward_of(const Frame *f, const Action *s) {
    int results = GRAD(q) - !s->attention.distances;
    Attention a = attention_of(f, s, results, 0);
    const Ref *r = &k_refs[s->ref];
    a.dq = k_resolve(f, &r[GRAD(dq)], 0, 0), a.lddq = r[GRAD(dq)].stride;
    a.dk_ = k_resolve(f, &r[GRAD(dk)], 0, 0), a.lddk = r[GRAD(dk)].stride;
    a.dvalue = k_resolve(f, &r[GRAD(dv)], 0, 0), a.lddv = r[GRAD(dv)].stride;
    if (a.distances)
        a.ddistance = k_resolve(f, &r[GRAD(dby_distance)], 0, 0),
        a.ldddistance = r[GRAD(dby_distance)].stride;
    r += results - GRAD(q);
    a.delta = k_resolve(f, &r[GRAD(delta)], 0, 0), a.lddelta = r[GRAD(delta)].stride;
    a.lse = k_resolve(f, &r[GRAD(lse)], 0, 0), a.ldlse = r[GRAD(lse)].stride;
    a.dout = k_resolve(f, &r[GRAD(dout)], 0, 0), a.lddout = r[GRAD(dout)].stride;
    if (a.distances) set_table(f, s, &a, &r[GRAD(by_distance)]);
    return a;
}

#undef GRAD

int64_t k_count_attention(const GlobalWork *w, const Action *s) {
    Attention a = forward_of(w->f, s, w->attention_step);
    return k_attention_tasks(&a);
}

void k_run_attention(const GlobalWork *w, const Action *s) {
    Attention a = forward_of(w->f, s, w->attention_step);
    k_attention(&a, w->task, frame_scratch(w->f, w->worker));
}

int64_t k_count_attention_grad(const GlobalWork *w, const Action *s) {
    Attention a = backward_of(w->f, s);
    return k_attention_grad_tasks(&a);
}

void k_run_attention_grad(const GlobalWork *w, const Action *s) {
    Attention a = backward_of(w->f, s);
    k_attention_grad(&a, w->task, frame_scratch(w->f, w->worker));
}

/* Nothing was added to a weight gradient before, nor is anything to stay. */
static bool overwrites(const Frame *f, const Action *s) {
    return k_refs[s->ref].area == AREA_CONSTANT || (s->outer.first && !f->accumulate);
}

int64_t k_count_outer(const GlobalWork *w, const Action *s) {
    (void)w;
    return blocks(s->outer.rows, OUTER_ROWS) * blocks(s->outer.columns, OUTER_COLUMNS);
}

/* A tile of a weight gradient; tokens in order. */
void k_run_outer(const GlobalWork *w, const Action *s) {
    const Frame *f = w->f;
    int64_t task = w->task;
    int32_t worker = w->worker;
    int64_t M = s->outer.rows, K = s->outer.columns, across = blocks(K, OUTER_COLUMNS);
    int64_t m0 = task / across * OUTER_ROWS, k0 = task % across * OUTER_COLUMNS;
    int64_t m1 = min64(m0 + OUTER_ROWS, M), k1 = min64(k0 + OUTER_COLUMNS, K);
    const Ref *r = &k_refs[s->ref];
    float *dw = k_resolve(f, &r[REF(OUTER, dw)], 0, 0),
          *dy = k_resolve(f, &r[REF(OUTER, dy)], 0, 0), *x = k_resolve(f, &r[REF(OUTER, x)], 0, 0);
    const strata_setup *u = &f->ctx->setup;
    int add = !overwrites(f, s);
    int64_t rows = frame_rows(f, s->list);
    if (!rows) {
        for (int64_t m = m0; !add && m < m1; m++)
            k_zero(k1 - k0, dw + m * K + k0);
        return;
    }
    if (k_constants.bf16)
        k_linear_weight_bf16(rows, m0, m1, k0, k1, (const uint16_t *)dy,
                             2 * r[REF(OUTER, dy)].stride, (const uint16_t *)x,
                             2 * r[REF(OUTER, x)].stride, dw, K, add, frame_scratch(f, worker));
    else if (frame_blas(f, s->outer.blas))
        k_sgemm(&(BlasProduct){ m1 - m0, k1 - k0, rows, dy + m0, r[REF(OUTER, dy)].stride, x + k0,
                                r[REF(OUTER, x)].stride, dw + m0 * K + k0, K,
                                LEFT_TRANSPOSED | (add ? ADDED : 0) });
    else if (u->gemm)
        u->gemm(u->gemm_user, m1 - m0, k1 - k0, rows, dy + m0, r[REF(OUTER, dy)].stride, x + k0,
                r[REF(OUTER, x)].stride, dw + m0 * K + k0, K);
    else
        k_linear_weight(rows, m0, m1, k0, k1, dy, r[REF(OUTER, dy)].stride, x,
                        r[REF(OUTER, x)].stride, dw, K, add, frame_scratch(f, worker));
}

int64_t k_count_top(const GlobalWork *w, const Action *s) {
    (void)s;
    return w->f->B;
}

/* One sequence's tokens. */
void k_run_top(const GlobalWork *w, const Action *s) {
    const Frame *f = w->f;
    int64_t sequence = w->task;
    const Ref *y = &k_refs[s->ref], *x = y + REF(TOP, x);
    int64_t k = (int64_t)(s->top.share * (double)f->T), first = sequence * f->T;
    k_top(f->T, k < 1 ? 1 : k, k_resolve(f, x, 0, 0) + first * x->stride, x->stride,
          k_resolve(f, y, 0, 0) + first * y->stride, y->stride);
}

/* One worker does all. */
static int64_t one_task(const GlobalWork *w, const Action *s) {
    (void)w, (void)s;
    return 1;
}

int64_t k_count_list(const GlobalWork *w, const Action *s) { return one_task(w, s); }

void k_run_list(const GlobalWork *w, const Action *s) {
    const Frame *f = w->f;
    const Ref *mask = &k_refs[s->ref + REF(LIST, mask)];
    k_list_make(f->B, f->T, k_resolve(f, mask, 0, 0), mask->stride, f->position,
                f->ctx->setup.routed, &f->list[s->list]);
}

int64_t k_count_scatter(const GlobalWork *w, const Action *s) {
    (void)w;
    return blocks(s->scatter.columns, SCATTER_COLUMNS);
}

/* Columns of one task. */
void k_run_scatter(const GlobalWork *w, const Action *s) {
    const Frame *f = w->f;
    int64_t task = w->task;
    const Ref *r = &k_refs[s->ref];
    k_embed_weight(frame_rows(f, s->list), task * SCATTER_COLUMNS,
                   min64((task + 1) * SCATTER_COLUMNS, s->scatter.columns),
                   k_resolve(f, &r[REF(SCATTER, dy)], 0, 0), r[REF(SCATTER, dy)].stride,
                   (const int32_t *)k_resolve(f, &r[REF(SCATTER, ids)], 0, 0), s->scatter.rows,
                   k_resolve(f, &r[REF(SCATTER, dw)], 0, 0), s->scatter.columns);
}

int64_t k_count_reduce(const GlobalWork *w, const Action *s) { return one_task(w, s); }

void k_run_reduce(const GlobalWork *w, const Action *s) {
    const Frame *f = w->f;
    const Ref *r = &k_refs[s->ref];
    k_reduce_rows(blocks(frame_rows(f, s->list), k_constants.granule), s->reduce.count,
                  k_resolve(f, &r[REF(REDUCE, partial)], 0, 0), r[REF(REDUCE, partial)].stride,
                  k_resolve(f, &r[REF(REDUCE, out)], 0, 0), s->reduce.add);
}

int64_t k_global_tasks(const GlobalWork *w, const Action *s) {
    switch (s->what) {
#define TOKEN_CASE(action, run)
#define GLOBAL_CASE(action, run) \
    case DO_##action: return k_count_##run(w, s);
#define AFTER_CASE(action, run) \
    case DO_##action: return 0;
#define ACTION(action, member, phase, run, ...) phase##_CASE(action, run)
#define ANCHOR(op, action, member, results, set, phase, run, ...) phase##_CASE(action, run)
#include "anchors.def"
#undef GLOBAL_CASE
#undef AFTER_CASE
    default: __builtin_trap();
    }
}

void k_global_action(const GlobalWork *w, const Action *s) {
    frame_profile(w->f, s, 1, w->worker);
    switch (s->what) {
#define GLOBAL_CASE(action, run) \
    case DO_##action: k_run_##run(w, s); break;
#define AFTER_CASE(action, run)
#define ACTION(action, member, phase, run, ...) phase##_CASE(action, run)
#define ANCHOR(op, action, member, results, set, phase, run, ...) phase##_CASE(action, run)
#include "anchors.def"
    default: __builtin_trap();
    }
    frame_profile(w->f, s, 0, w->worker);
    if (k_constants.check) k_check_step(w->f, s, w->worker);
}

/* Keys and values become rows of caches; false: there is no room. */
static bool append(Frame *f, const Action *s, int attention_step) {
    if (!f->states) return true;
    Attention a = forward_of(f, s, attention_step);
    f->status = k_append(f, s, attention_step, &a);
    return !f->status;
}

void k_attention_end(const Frame *f, const Action *s, int attention_step) {
    if (s->what != DO_ATTENTION) return;
    bool ring = k_caches[s->attention.cache].ring;
    if (!ring && !puts_aside(f)) return;
    Attention a = forward_of(f, s, attention_step);
    if (a.aside) {
        unsigned mode = enter_mode();
        k_attention_join(&a);
        leave_mode(mode);
    }
    if (ring) k_append_later(f, &a);
}

/* What adds to its result, and is not a gradient, starts from zero. */
bool k_global_begin(Frame *f, const Action *s, int attention_step) {
    const Ref *out = &k_refs[s->ref];
    if (s->what == DO_ATTENTION) return append(f, s, attention_step);
    if (s->what == DO_OUTER && out->area == AREA_CONSTANT && f->ctx->setup.gemm)
        k_zero(s->outer.rows * s->outer.columns, k_resolve(f, out, 0, 0));
    if (s->what == DO_SCATTER && out->area == AREA_CONSTANT)
        k_zero(s->scatter.rows * s->scatter.columns, k_resolve(f, out, 0, 0));
    return true;
}
