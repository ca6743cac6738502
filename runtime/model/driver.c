/*
** Walks the tables of a compiled model (program.h): phases, steps, tasks.
**
** In a token phase a task takes one chunk of tokens through every step.  In a
** global phase the tasks of all steps are numbered one after another and run
** side by side; uniform steps follow, on the calling thread.
*/
#include "driver.h"
#include "packed.h"
#include "philox.h"

enum { OUTER_ROWS = 512, OUTER_COLUMNS = 1024, SCATTER_COLUMNS = 64 };
/* Of products of few rows: a task has a multiple of so many columns, a worker so many tasks. */
enum { FEW_COLUMNS = 16, FEW_TASKS = 8 };

static float *table_at(Context *c, int64_t offset) {
    return context_tables(c) + wave_offset(offset, model()->context, c->length);
}

float *k_resolve(const Frame *f, const Ref *r, int32_t worker, int64_t first) {
    switch (r->area) {
    case AREA_WEIGHT: return (float *)f->weights + r->offset;
    case AREA_GRADIENT: return f->gradients + r->offset;
    case AREA_TOKEN: return f->token + r->offset * f->padded;
    case AREA_LOCAL:
        return f->local + worker * f->local_floats + r->offset * k_constants.chunk
            - first * r->stride;
    case AREA_GRANULE: return f->granule + r->offset * (f->padded / k_constants.granule);
    case AREA_CONSTANT: return f->constant + r->offset;
    case AREA_TABLE: return table_at(f->ctx, r->offset);
    case AREA_UNIFORM: return (float *)f->uniform + r->offset;
    case AREA_TOKENS: return (float *)f->tokens;
    case AREA_TARGETS: return (float *)f->targets;
    case AREA_POSITION: return (float *)f->position;
    case AREA_LIST_POSITION: return (float *)f->list[r->offset].position;
    case AREA_LOGITS: return f->logits;
    default: return 0;
    }
}

void k_par_for(Context *c, int64_t tasks, strata_task_fn fn, void *arg) {
    if (c->setup.par_for && c->setup.workers > 1 && tasks > 1) {
        c->setup.par_for(c->setup.pool, tasks, fn, arg);
        return;
    }
    for (int64_t i = 0; i < tasks; i++)
        fn(arg, i, 0);
}

static void profile(const Frame *f, const Action *s, int32_t begin, int32_t worker) {
    const strata_setup *u = &f->ctx->setup;
    if (u->profile && s->profile >= 0) u->profile(u->profile_user, s->profile, begin, worker);
}

static float *scratch_of(const Frame *f, int32_t worker) {
    return f->local + worker * f->local_floats + f->scratch;
}

/* Rows of a list, or tokens. */
static int64_t rows_of(const Frame *f, int32_t list) { return list ? f->list[list].count : f->N; }

/* == Steps of token phases ================================================ */

typedef struct Work {
    const Frame *f;
    int32_t worker;
    int64_t first, count;
    int64_t m0, m1; /* few rows: columns of a product; m1 < 0: all */
} Work;

static void row_step(const Work *w, const Action *s) {
    if (k_constants.check) {
        k_check_row(w->f, s, w->worker, w->first, w->count);
        return;
    }
    float *p[MAX_REFS];
    for (int32_t i = 0; i < s->refs; i++)
        p[i] = k_resolve(w->f, &k_refs[s->ref + i], w->worker, w->first);
    k_row(s->row.kernel, p, w->first, w->count, scratch_of(w->f, w->worker));
}

static float *row_of(const Work *w, const Action *s, int i) {
    const Ref *r = &k_refs[s->ref + i];
    float *p = k_resolve(w->f, r, w->worker, w->first);
    return p ? p + w->first * r->stride : 0;
}

static int64_t stride_of(const Action *s, int i) { return k_refs[s->ref + i].stride; }

static bool takes_kept(const Frame *f, const ProductAction *a) { return f->kept && a->kept >= 0; }

/* Where a product's weights were packed; NULL: they were not. */
static const float *packed_of(const Frame *f, const ProductAction *a) {
    if (takes_kept(f, a)) return f->kept + a->kept;
    return f->packed && !f->few && a->packed >= 0 ? f->packed + a->packed : 0;
}

/* A product's weights that lie at w, in rows of ld floats. */
static Weights weights_of(const ProductAction *a, const float *w, int64_t ld) {
    return a->half ? (Weights){ 0, (const uint16_t *)w, ld } : (Weights){ w, 0, ld };
}

static int64_t weights_row(const ProductAction *a, int back) {
    return back ? a->columns : a->steps;
}

/* A product of --precision bf16: x is bfloat16. */
static void product_step_bf16(const Work *w, const Action *s, int back) {
    const ProductAction *a = &s->product;
    const uint16_t *x = (const uint16_t *)row_of(w, s, 1);
    const float *packed = packed_of(w->f, a);
    float *scratch = scratch_of(w->f, w->worker), *at = row_of(w, s, 0);
    Weights m = weights_of(a, k_resolve(w->f, &k_refs[s->ref + 2], w->worker, w->first),
                           weights_row(a, back));
    int64_t ldx = 2 * stride_of(s, 1), ldy = stride_of(s, 0), m1 = w->m1 < 0 ? a->columns : w->m1;
    Result y = { at, 0, ldy, a->add };
    if (a->narrow) y = (Result){ 0, (uint16_t *)at, 2 * ldy, 0 };
    if (packed) k_multiply_bf16(w->count, a->columns, a->steps, x, ldx, packed, y, scratch);
    else if (w->f->few && !back && m.halves)
        k_linear_few_halves(w->count, w->m0, m1, a->steps, x, ldx, m.halves, m.ld, y);
    else if (w->f->few && !back)
        k_linear_few_bf16(w->count, w->m0, m1, a->steps, x, ldx, m.floats, m.ld, y);
    else k_linear_bf16(w->count, a->columns, a->steps, x, ldx, m, back, y, scratch);
}

/* A row product: x w^T, or dy w if 'back'. */
static void product_step(const Work *w, const Action *s, int back) {
    if (k_constants.bf16) {
        product_step_bf16(w, s, back);
        return;
    }
    const ProductAction *a = &s->product;
    float *y = row_of(w, s, 0), *x = row_of(w, s, 1), *scratch = scratch_of(w->f, w->worker);
    const float *packed = packed_of(w->f, a);
    const float *m = k_resolve(w->f, &k_refs[s->ref + 2], w->worker, w->first);
    int64_t columns = a->columns, steps = a->steps, ldx = stride_of(s, 1), ldy = stride_of(s, 0);
    int64_t m1 = w->m1 < 0 ? columns : w->m1;
    if (packed) k_multiply(w->count, columns, steps, x, ldx, packed, y, ldy, a->add);
    else if (w->f->few && !back)
        k_linear_few(w->count, w->m0, m1, steps, x, ldx, m, steps, y, ldy, a->add);
    else if (back)
        k_linear_back(w->count, steps, columns, x, ldx, m, columns, y, ldy, a->add, scratch);
    else k_linear(w->count, columns, steps, x, ldx, m, steps, y, ldy, a->add, scratch);
}

static const int32_t *ids_of(const Work *w, const Action *s, int i) {
    return (const int32_t *)k_resolve(w->f, &k_refs[s->ref + i], w->worker, w->first) + w->first;
}

static void embed_step(const Work *w, const Action *s) {
    const float *table = k_resolve(w->f, &k_refs[s->ref + 1], w->worker, w->first);
    int64_t columns = s->embed.columns;
    if (k_constants.bf16 && s->embed.half)
        k_embed_halves(w->count, columns, (const uint16_t *)table, columns, ids_of(w, s, 2),
                       row_of(w, s, 0), stride_of(s, 0));
    else
        k_embed(w->count, columns, table, columns, ids_of(w, s, 2), row_of(w, s, 0),
                stride_of(s, 0));
}

static void gather_step(const Work *w, const Action *s) {
    const float *x = k_resolve(w->f, &k_refs[s->ref + 1], w->worker, w->first);
    k_embed(w->count, s->rows.columns, x, stride_of(s, 1), w->f->list[s->list].token + w->first,
            row_of(w, s, 0), stride_of(s, 0));
}

static void scatter_step(const Work *w, const Action *s) {
    const float *x = k_resolve(w->f, &k_refs[s->ref + 1], w->worker, w->first);
    k_scatter_rows(w->count, s->rows.columns, x, stride_of(s, 1),
                   w->f->list[s->list].place + w->first, row_of(w, s, 0), stride_of(s, 0));
}

static void random_step(const Work *w, const Action *s) {
    float *y = row_of(w, s, 0);
    for (int64_t t = 0; t < w->count; t++, y += stride_of(s, 0))
        for (int64_t i = 0; i < s->random.count; i++)
            y[i] = w->f->draw ? philox_uniform(w->f->draw, (uint32_t)s->random.stream,
                                               (uint64_t)(w->first + t), (uint32_t)i)
                              : 0.5f;
}

static void token_step(const Work *w, const Action *s) {
    if (k_constants.check && k_check_found(w->f)) return;
    profile(w->f, s, 1, w->worker);
    switch (s->what) {
    case DO_ROW: row_step(w, s); break;
    case DO_LINEAR:
    case DO_LINEAR_BACK: product_step(w, s, s->what == DO_LINEAR_BACK); break;
    case DO_EMBED: embed_step(w, s); break;
    case DO_RANDOM: random_step(w, s); break;
    case DO_GATHER: gather_step(w, s); break;
    case DO_SCATTER_ROWS: scatter_step(w, s); break;
    case DO_CROSS_ENTROPY:
        k_cross_entropy(w->count, s->loss.vocab, row_of(w, s, 2), stride_of(s, 2), ids_of(w, s, 3),
                        row_of(w, s, 0), stride_of(s, 0), row_of(w, s, 1), stride_of(s, 1));
        break;
    case DO_CROSS_ENTROPY_GRAD:
        k_cross_entropy_grad(w->count, s->loss.vocab, row_of(w, s, 1), stride_of(s, 1),
                             row_of(w, s, 2), stride_of(s, 2), ids_of(w, s, 3), row_of(w, s, 4),
                             stride_of(s, 4), row_of(w, s, 0), stride_of(s, 0));
        break;
    default: __builtin_trap();
    }
    profile(w->f, s, 0, w->worker);
    if (!k_constants.check) return;
    k_check_step(w->f, s, w->worker);
    k_check_free(w->f, s, w->worker);
}

/* == Steps of global phases =============================================== */

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
    };
    if (s->list) a.first = f->list[s->list].first;
    if (t->keys) a.first_key = f->list[t->keys].first;
    if (s->list && t->keys) a.time = f->list[s->list].longest;
    if (s->list != t->keys) a.sees = t->keys ? f->list[t->keys].before : f->list[s->list].order;
    const Ref *r = &k_refs[s->ref];
    a.q = k_resolve(f, &r[q], 0, 0), a.ldq = r[q].stride;
    a.k = k_resolve(f, &r[q + 1], 0, 0), a.ldk = r[q + 1].stride;
    a.v = k_resolve(f, &r[q + 2], 0, 0), a.ldv = r[q + 2].stride;
    if (f->states) {
        a.keys = f->keys + attention_step * f->B;
        a.values = f->values + attention_step * f->B;
        a.past = f->past + attention_step * f->B;
        a.context = cache_rows(&k_caches[t->cache], f->states[0]->context, f->states[0]->rows);
    }
    return a;
}

static Attention forward_of(const Frame *f, const Action *s, int attention_step) {
    Attention a = attention_of(f, s, 2, attention_step);
    const Ref *r = &k_refs[s->ref];
    a.o = k_resolve(f, &r[0], 0, 0), a.ldo = r[0].stride;
    a.lse = k_resolve(f, &r[1], 0, 0), a.ldlse = r[1].stride;
    return a;
}

static Attention backward_of(const Frame *f, const Action *s) {
    Attention a = attention_of(f, s, 3, 0);
    const Ref *r = &k_refs[s->ref];
    a.dq = k_resolve(f, &r[0], 0, 0), a.lddq = r[0].stride;
    a.dk_ = k_resolve(f, &r[1], 0, 0), a.lddk = r[1].stride;
    a.dvalue = k_resolve(f, &r[2], 0, 0), a.lddv = r[2].stride;
    a.delta = k_resolve(f, &r[6], 0, 0), a.lddelta = r[6].stride;
    a.lse = k_resolve(f, &r[7], 0, 0), a.ldlse = r[7].stride;
    a.dout = k_resolve(f, &r[8], 0, 0), a.lddout = r[8].stride;
    a.workers = f->ctx->setup.workers;
    return a;
}

static int64_t blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }

static int64_t step_tasks(const Frame *f, const Action *s, int attention_step) {
    Attention a;
    switch (s->what) {
    case DO_ATTENTION: a = forward_of(f, s, attention_step); return k_attention_tasks(&a);
    case DO_ATTENTION_GRAD: a = backward_of(f, s); return k_attention_grad_tasks(&a);
    case DO_OUTER:
        return blocks(s->outer.rows, OUTER_ROWS) * blocks(s->outer.columns, OUTER_COLUMNS);
    case DO_SCATTER: return blocks(s->scatter.columns, SCATTER_COLUMNS);
    case DO_REDUCE:
    case DO_LIST: return 1;
    case DO_TOP: return f->B;
    case DO_UNIFORM: return 0; /* after all tasks */
    default: __builtin_trap();
    }
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Nothing was added to a weight gradient before, nor is anything to be kept. */
static bool overwrites(const Frame *f, const Action *s) {
    return k_refs[s->ref].area == AREA_CONSTANT || (s->outer.first && !f->accumulate);
}

/* A tile of a weight gradient; tokens in order. */
static void outer_task(const Frame *f, const Action *s, int64_t task, int32_t worker) {
    int64_t M = s->outer.rows, K = s->outer.columns, across = blocks(K, OUTER_COLUMNS);
    int64_t m0 = task / across * OUTER_ROWS, k0 = task % across * OUTER_COLUMNS;
    int64_t m1 = least(m0 + OUTER_ROWS, M), k1 = least(k0 + OUTER_COLUMNS, K);
    const Ref *r = &k_refs[s->ref];
    float *dw = k_resolve(f, &r[0], 0, 0), *dy = k_resolve(f, &r[1], 0, 0),
          *x = k_resolve(f, &r[2], 0, 0);
    const strata_setup *u = &f->ctx->setup;
    int add = !overwrites(f, s);
    int64_t rows = rows_of(f, s->list);
    if (!rows) {
        for (int64_t m = m0; !add && m < m1; m++)
            k_zero(k1 - k0, dw + m * K + k0);
        return;
    }
    if (k_constants.bf16)
        k_linear_weight_bf16(rows, m0, m1, k0, k1, (const uint16_t *)dy, 2 * r[1].stride,
                             (const uint16_t *)x, 2 * r[2].stride, dw, K, add,
                             scratch_of(f, worker));
    else if (u->gemm)
        u->gemm(u->gemm_user, m1 - m0, k1 - k0, rows, dy + m0, r[1].stride, x + k0, r[2].stride,
                dw + m0 * K + k0, K);
    else
        k_linear_weight(rows, m0, m1, k0, k1, dy, r[1].stride, x, r[2].stride, dw, K, add,
                        scratch_of(f, worker));
}

/* One sequence's tokens. */
static void top_task(const Frame *f, const Action *s, int64_t sequence) {
    const Ref *y = &k_refs[s->ref], *x = y + 1;
    int64_t k = (int64_t)(s->top.share * (double)f->T), first = sequence * f->T;
    k_top(f->T, k < 1 ? 1 : k, k_resolve(f, x, 0, 0) + first * x->stride, x->stride,
          k_resolve(f, y, 0, 0) + first * y->stride, y->stride);
}

static void global_task(const Frame *f, const Action *s, int64_t task, int32_t worker,
                        int attention_step) {
    const Ref *r = &k_refs[s->ref];
    Attention a;
    switch (s->what) {
    case DO_ATTENTION:
        a = forward_of(f, s, attention_step);
        k_attention(&a, task, scratch_of(f, worker));
        break;
    case DO_ATTENTION_GRAD:
        a = backward_of(f, s);
        k_attention_grad(&a, task, scratch_of(f, worker));
        break;
    case DO_OUTER: outer_task(f, s, task, worker); break;
    case DO_SCATTER:
        k_embed_weight(rows_of(f, s->list), task * SCATTER_COLUMNS,
                       least((task + 1) * SCATTER_COLUMNS, s->scatter.columns),
                       k_resolve(f, &r[1], 0, 0), r[1].stride,
                       (const int32_t *)k_resolve(f, &r[2], 0, 0), k_resolve(f, &r[0], 0, 0),
                       s->scatter.columns);
        break;
    case DO_REDUCE:
        k_reduce_rows(blocks(rows_of(f, s->list), k_constants.granule), s->reduce.count,
                      k_resolve(f, &r[1], 0, 0), r[1].stride, k_resolve(f, &r[0], 0, 0),
                      s->reduce.add);
        break;
    case DO_TOP: top_task(f, s, task); break;
    case DO_LIST:
        k_list_make(f->B, f->T, k_resolve(f, &r[1], 0, 0), r[1].stride, f->position,
                    f->ctx->setup.routed, &f->list[s->list]);
        break;
    default: __builtin_trap();
    }
}

/* == Phases =============================================================== */

/* 'step', 'block': the first of products of few rows that run side by side, and columns of a
** task. */
typedef struct Job {
    Frame *f;
    const Stage *phase;
    const Action *step;
    int64_t block;
} Job;

/* The rows that a token phase works on. */
static int64_t first_row(const Frame *f, const Stage *phase) { return phase->list ? 0 : f->from; }
static int64_t rows_left(const Frame *f, const Stage *phase) {
    return rows_of(f, phase->list) - first_row(f, phase);
}

static void chunk_task(void *arg, int64_t task, int32_t worker) {
    const Job *j = arg;
    unsigned mode = enter_mode();
    int64_t done = task * k_constants.chunk;
    Work w = { j->f,
               worker,
               first_row(j->f, j->phase) + done,
               least(k_constants.chunk, rows_left(j->f, j->phase) - done),
               0,
               -1 };
    for (int32_t i = 0; i < j->phase->count; i++)
        token_step(&w, &k_actions[j->phase->first + i]);
    leave_mode(mode);
}

static void columns_task(void *arg, int64_t task, int32_t worker) {
    const Job *j = arg;
    const Action *s = j->step;
    for (; task >= blocks(s->product.columns, j->block); s++)
        task -= blocks(s->product.columns, j->block);
    unsigned mode = enter_mode();
    Work w = { j->f,
               0,
               first_row(j->f, j->phase),
               rows_left(j->f, j->phase),
               task * j->block,
               least((task + 1) * j->block, s->product.columns) };
    profile(j->f, s, 1, worker);
    product_step(&w, s, 0);
    profile(j->f, s, 0, worker);
    leave_mode(mode);
}

static bool same_ref(const Action *a, const Action *b, int i) {
    const Ref *x = &k_refs[a->ref + i], *y = &k_refs[b->ref + i];
    return x->area == y->area && x->offset == y->offset;
}

/* Products from s on, before 'end', that read the same rows and write others: none waits for
** another. */
static int32_t side_by_side(const Action *s, const Action *end) {
    int32_t n = 1;
    for (; s + n < end && s[n].what == DO_LINEAR && same_ref(s, s + n, 1); n++)
        for (int32_t i = 0; i < n; i++)
            if (same_ref(s + i, s + n, 0)) return n;
    return n;
}

static void columns_step(Frame *f, const Stage *phase, const Action *s, int32_t steps) {
    int64_t columns = 0, tasks = 0, workers = f->ctx->setup.workers;
    for (int32_t i = 0; i < steps; i++)
        columns += s[i].product.columns;
    int64_t share = blocks(columns, workers > 1 ? FEW_TASKS * workers : 1);
    Job j = { f, phase, s, blocks(share, FEW_COLUMNS) * FEW_COLUMNS };
    for (int32_t i = 0; i < steps; i++)
        tasks += blocks(s[i].product.columns, j.block);
    k_par_for(f->ctx, tasks, columns_task, &j);
    for (int32_t i = 0; k_constants.check && i < steps; i++)
        k_check_step(f, s + i, 0), k_check_free(f, s + i, 0);
}

/* Few rows: each step by itself, products split by columns over all workers. */
static void run_few(Frame *f, const Stage *phase) {
    for (int32_t i = 0; i < phase->count; i++) {
        const Action *s = &k_actions[phase->first + i];
        if (s->what == DO_LINEAR) {
            int32_t steps = side_by_side(s, &k_actions[phase->first + phase->count]);
            columns_step(f, phase, s, steps);
            i += steps - 1;
        } else {
            unsigned mode = enter_mode();
            Work w = { f, 0, first_row(f, phase), rows_left(f, phase), 0, -1 };
            token_step(&w, s);
            leave_mode(mode);
        }
    }
}

static void tile_task(void *arg, int64_t task, int32_t worker) {
    const Job *j = arg;
    int attention_step = 0;
    unsigned mode = enter_mode();
    for (int32_t i = 0; i < j->phase->count; i++) {
        const Action *s = &k_actions[j->phase->first + i];
        int64_t n = step_tasks(j->f, s, attention_step);
        if (task < n) {
            profile(j->f, s, 1, worker);
            global_task(j->f, s, task, worker, attention_step);
            profile(j->f, s, 0, worker);
            if (k_constants.check) k_check_step(j->f, s, worker);
            break;
        }
        task -= n;
        attention_step += s->what == DO_ATTENTION;
    }
    leave_mode(mode);
}

/* Keys and values become rows of caches; false: there is no room. */
static bool append(Frame *f, const Action *s, int attention_step) {
    if (!f->states) return true;
    Attention a = forward_of(f, s, attention_step);
    f->status = k_append(f, s, attention_step, &a);
    return !f->status;
}

static void run_global(Frame *f, const Stage *phase) {
    Job j = { f, phase, 0, 0 };
    int64_t tasks = 0;
    int attention_step = 0;
    for (int32_t i = 0; i < phase->count; i++) {
        const Action *s = &k_actions[phase->first + i];
        const Ref *out = &k_refs[s->ref];
        if (s->what == DO_ATTENTION && !append(f, s, attention_step)) return;
        /* what adds to its result, and is not a gradient, starts from zero */
        if (s->what == DO_OUTER && out->area == AREA_CONSTANT && f->ctx->setup.gemm)
            k_zero(s->outer.rows * s->outer.columns, k_resolve(f, out, 0, 0));
        if (s->what == DO_SCATTER && out->area == AREA_CONSTANT)
            k_zero(s->scatter.rows * s->scatter.columns, k_resolve(f, out, 0, 0));
        tasks += step_tasks(f, s, attention_step);
        attention_step += s->what == DO_ATTENTION;
    }
    k_par_for(f->ctx, tasks, tile_task, &j);
    for (int32_t i = 0; i < phase->count; i++) {
        const Action *s = &k_actions[phase->first + i];
        if (s->what != DO_UNIFORM) continue;
        unsigned mode = enter_mode();
        Work w = { f, 0, 0, 0, 0, -1 };
        profile(f, s, 1, 0);
        row_step(&w, s);
        profile(f, s, 0, 0);
        leave_mode(mode);
    }
}

/* Tasks of an action: blocks of columns of its weights. */
static int64_t pack_tasks(const Frame *f, const Action *s) {
    if (s->what != DO_LINEAR && s->what != DO_LINEAR_BACK) return 0;
    const ProductAction *a = &s->product;
    return packed_of(f, a) && !takes_kept(f, a) ? blocks(a->columns, BLOCK) : 0;
}

static void pack_task(void *arg, int64_t task, int32_t worker) {
    const Job *j = arg;
    for (int32_t i = 0; i < j->phase->count; i++) {
        const Action *s = &k_actions[j->phase->first + i];
        int64_t n = pack_tasks(j->f, s);
        if (task < n) {
            int back = s->what == DO_LINEAR_BACK;
            profile(j->f, s, 1, worker);
            const float *w = k_resolve(j->f, &k_refs[s->ref + 2], worker, 0);
            const ProductAction *a = &s->product;
            int64_t ld = weights_row(a, back);
            float *packed = j->f->packed + a->packed;
            if (k_constants.bf16)
                k_pack_bf16(a->columns, a->steps, weights_of(a, w, ld), back, task, packed,
                            scratch_of(j->f, worker));
            else k_pack(a->columns, a->steps, w, ld, back, task, packed);
            profile(j->f, s, 0, worker);
            return;
        }
        task -= n;
    }
}

static void pack_weights(Frame *f, const Stage *phase) {
    Job j = { f, phase, 0, 0 };
    int64_t tasks = 0;
    for (int32_t i = 0; i < phase->count; i++)
        tasks += pack_tasks(f, &k_actions[phase->first + i]);
    if (tasks) k_par_for(f->ctx, tasks, pack_task, &j);
}

void k_run_phase(Frame *f, const Stage *phase) {
    if (phase->global) run_global(f, phase);
    else if (!rows_left(f, phase)) return; /* a list of no rows */
    else if (f->few) run_few(f, phase);
    else {
        Job j = { f, phase, 0, 0 };
        pack_weights(f, phase);
        k_par_for(f->ctx, blocks(rows_left(f, phase), k_constants.chunk), chunk_task, &j);
    }
}
