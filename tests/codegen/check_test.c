/* SPDX-License-Identifier: MIT
** Builds with --check find what is put wrong here on purpose, between the compiler's
** stages: row kernels with a wrong stride or too little scratch, values whose memory
** is given up too early, and writes over the guard words from callbacks.
**
** Calls of the compiler's own functions come here first (the linker's --wrap).
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "check_model.h"
#include "plan.h"
#include "rows.h"
#include "scratch.h"
#include "strata.h"

/* == Mistakes ============================================================= */

typedef enum Mistake {
    CORRECT,
    WIDE_LOAD,
    BACKWARD_LOAD,
    WIDE_STORE,
    WIDE_BF16,
    SMALL_SCRATCH,
    FREED_EARLY
} Mistake;

/* What to do to the kernel of this number, of those to which it can be done. */
static struct {
    Mistake mistake;
    int at;
    int seen;    /* kernels to which it could be done */
    int emitted; /* kernels so far */
    int kernel;  /* the one it was done to, of those that were emitted */
} wrong;

static void make_wrong(Mistake mistake, int at) {
    memset(&wrong, 0, sizeof wrong);
    wrong.mistake = mistake;
    wrong.at = at;
}

static bool is_result(const Rows *r, int operand) {
    for (int i = 0; i < r->nvalue; i++)
        for (int k = 0; k < r->value[i].lies.nout; k++)
            if (r->value[i].lies.out[k] == operand) return true;
    return false;
}

/* A value of every token that the kernel reads, or one that it writes, of bfloat16 or of either
** kind; -1. */
static int token_operand(const Rows *r, Mistake mistake) {
    for (int i = 0; i < r->noperand; i++) {
        const Operand *o = &r->operand[i];
        if (o->ref.area != AREA_TOKEN && o->ref.area != AREA_LOCAL) continue;
        if (mistake == WIDE_BF16 && !plan_bf16(o->node)) continue;
        if (is_result(r, i) == (mistake == WIDE_STORE || mistake == WIDE_BF16)) return i;
    }
    return -1;
}

static int32_t wrong_stride(int32_t right) {
    switch (wrong.mistake) {
    case BACKWARD_LOAD: return -right;
    case WIDE_BF16: return right + 1; /* the second of two tokens: two bfloat16s too far */
    default: return right + 16;
    }
}

int64_t __real_rows_emit(struct Emit *e, const Rows *r, const char *name);
int64_t __wrap_rows_emit(struct Emit *e, const Rows *r, const char *name);
int64_t __wrap_rows_emit(struct Emit *e, const Rows *r, const char *name) {
    Rows changed = *r;
    int operand = token_operand(r, wrong.mistake);
    bool strided = wrong.mistake >= WIDE_LOAD && wrong.mistake <= WIDE_BF16 && operand >= 0;
    bool small = wrong.mistake == SMALL_SCRATCH && r->scratch > 0;
    int32_t *stride = strided ? &r->operand[operand].ref.stride : NULL,
            kept = strided ? *stride : 0;
    if ((strided || small) && wrong.seen++ == wrong.at) {
        wrong.kernel = wrong.emitted;
        if (small) changed.scratch = 0;
        else *stride = wrong_stride(kept);
    }
    wrong.emitted++;
    int64_t size = __real_rows_emit(e, &changed, name);
    if (stride) *stride = kept; /* the driver's tables are right */
    return size;
}

/* Values of the logits' program that are needed in a later phase. */
static void free_early(Plan *p) {
    for (int i = 0; i < p->g->n; i++) {
        Buffer *b = p->buffer[i];
        if (!b || b->into || b->space != SPACE_TOKEN
            || p->step[b->first].phase == p->step[b->last].phase)
            continue;
        if (wrong.seen++ == wrong.at) b->last = b->first;
    }
}

void __real_pass_memory(Plan *p, bool reuse);
void __wrap_pass_memory(Plan *p, bool reuse);
void __wrap_pass_memory(Plan *p, bool reuse) {
    __real_pass_memory(p, reuse);
    if (wrong.mistake == FREED_EARLY && graph_find(p->g, "logits")) free_early(p);
}

/* == Row kernels put wrong ================================================ */

typedef struct Found {
    int32_t status;
    char text[256];
} Found;

static void note(const Instance *r, int32_t status, Found *f) {
    if (f->status || !status) return;
    f->status = status;
    snprintf(f->text, sizeof f->text, "%s", r->c->api.message(r->ctx.at));
}

/* The first message of the programs, in the order in which they were compiled. */
static Found find(const Built *s, Extent x, int workers) {
    const strata_api *a = &s->c.api;
    int64_t n = x.batch * x.time;
    Found f = { 0 };
    Case *c = compiled_case(s->m->graph, 3, x.batch, x.time, V);
    float *logits = malloc((size_t)(n * V) * sizeof *logits);
    Instance r;
    instance_open(&r, &s->c, n, workers);
    instance_weights(&r, c);
    note(&r, a->logits(r.ctx.at, r.weights.at, r.arena.at, c->tokens, x.batch, x.time, logits), &f);
    note(&r,
         a->loss(r.ctx.at, r.weights.at, r.arena.at, c->tokens, c->targets, x.batch, x.time, NULL,
                 NULL),
         &f);
    note(&r,
         a->forward_backward(r.ctx.at, r.weights.at, r.train.at, r.arena.at, c->tokens, c->targets,
                             x.batch, x.time, 1, 0, NULL, NULL, NULL),
         &f);
    instance_close(&r);
    free(logits);
    case_free(c);
    return f;
}

/* Of the kernel that is wrong: they are emitted in the order of the table. */
static const char *wrong_kernel(const Built *s) {
    const strata_model *m = s->c.model;
    const strata_kernel *k = strata_kernels(m);
    int number = 0;
    for (int32_t i = 0; i < m->kernels; i++) {
        const char *name = strata_string(m, k[i].name);
        if (!strncmp(name, "rows", 4) && number++ == wrong.kernel) return name;
    }
    fail_msg("expected %d row kernels, found %d", wrong.kernel + 1, number);
    return "";
}

static void expect_found(const Found *f, const char *kernel, const char *what) {
    if (f->status != STRATA_ERROR_CHECK || !strstr(f->text, kernel) || !strstr(f->text, what))
        fail_msg("expected status %d and a message with '%s' and '%s', found %d: %s",
                 STRATA_ERROR_CHECK, kernel, what, f->status, f->text);
}

/* Every so many of the kernels to which it can be done, one after another. */
static void every_kernel(void **state, Mistake mistake, int every, const char *what) {
    int tried = 0, seen = 1;
    bool bf16 = mistake == WIDE_BF16;
    for (; tried < seen; tried += every) {
        Built s;
        make_wrong(mistake, tried);
        check_open(state, &s, "attnres { full = true, heads = 2 }", 1,
                   (CodegenOptions){ .passes.check = true, .passes.bf16 = bf16 });
        seen = wrong.seen;
        Found f = find(&s, bf16 ? (Extent){ 1, 2 } : (Extent){ 2, 40 }, 1 + tried / every % 2);
        expect_found(&f, wrong_kernel(&s), what);
        built_close(&s);
    }
    assert_in_range(tried, 4, 100);
}

static void loads_beyond(void **state) {
    every_kernel(state, WIDE_LOAD, 1, ": loads from beyond operand ");
}
static void loads_before(void **state) {
    every_kernel(state, BACKWARD_LOAD, 3, ": loads from before operand ");
}
static void stores_beyond(void **state) {
    every_kernel(state, WIDE_STORE, 2, ": stores to beyond operand ");
}
static void bf16_beyond(void **state) {
    every_kernel(state, WIDE_BF16, 2, ": stores to beyond operand ");
}
static void little_scratch(void **state) {
    every_kernel(state, SMALL_SCRATCH, 3, " outside its scratch");
}

/* A sequence does not grow by a call that found something. */
static void no_progress(void **state) {
    Built s;
    make_wrong(WIDE_STORE, 0);
    check_open(state, &s, "standard {}", 1,
               (CodegenOptions){ .passes.check = true, .passes.inference = true });
    const strata_api *a = &s.c.api;
    Case *c = compiled_case(s.m->graph, 3, 1, 40, V);
    Instance r;
    Guarded states;
    instance_open(&r, &s.c, 40, 1);
    instance_weights(&r, c);
    guarded_open(&states, a->state_bytes(CONTEXT));
    assert_int_equal(a->state_init(r.ctx.at, states.at, CONTEXT), STRATA_OK);
    for (int i = 0; i < 4; i++) { /* four times 40 tokens would be more than the context */
        float logits[V];
        Found f = { 0 };
        note(&r, a->prefill(r.ctx.at, r.weights.at, states.at, r.arena.at, c->tokens, 40, logits),
             &f);
        expect_found(&f, wrong_kernel(&s), "stores to beyond operand");
    }
    guarded_close(&states);
    instance_close(&r);
    case_free(c);
    built_close(&s);
}

/* == Freed memory ========================================================= */

static void good(const Instance *r, int32_t status) {
    if (status) fail_msg("status %d: %s", status, r->c->api.message(r->ctx.at));
}

static int count_nan(const Built *s, int64_t time) {
    const strata_api *a = &s->c.api;
    Case *c = compiled_case(s->m->graph, 3, 1, time, V);
    float *logits = malloc((size_t)(time * V) * sizeof *logits);
    int nan = 0;
    Instance r;
    instance_open(&r, &s->c, time, 1);
    instance_weights(&r, c);
    good(&r, a->logits(r.ctx.at, r.weights.at, r.arena.at, c->tokens, 1, time, logits));
    for (int64_t i = 0; i < time * V; i++)
        nan += isnan(logits[i]);
    instance_close(&r);
    free(logits);
    case_free(c);
    return nan;
}

static int nan_with(void **state, Mistake mistake, int at) {
    Built s;
    make_wrong(mistake, at);
    check_open(state, &s, "standard {}", 2,
               (CodegenOptions){ .passes.check = true, .passes.inference = true });
    int nan = count_nan(&s, 30);
    built_close(&s);
    return nan;
}

static void freed_is_nan(void **state) {
    assert_int_equal(nan_with(state, CORRECT, 0), 0);
    int tried = 0;
    do {
        if (!nan_with(state, FREED_EARLY, tried))
            fail_msg("value %d was freed too early and no logit is NaN", tried);
    } while (++tried < wrong.seen);
    assert_in_range(tried, 4, 100);
}

/* == Guard words ========================================================== */

typedef enum Where { BEHIND_REGION, BEHIND_TOKENS, BEHIND_SCRATCH } Where;

typedef struct Vandal {
    Where where;
    float *scratch_end;
    int kernel; /* while which runs, an index in the kernel table; -1: not yet */
} Vandal;

/* A product that computes nothing, but writes behind the value that it reads. */
static void stray_gemm(void *user, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                       const float *b, int64_t ldb, float *c, int64_t ldc) {
    (void)m, (void)n, (void)a, (void)lda, (void)c, (void)ldc;
    Vandal *v = user;
    if (v->where != BEHIND_SCRATCH) ((float *)b)[k * ldb] = 0;
}

static void stray_profile(void *user, int32_t index, int32_t begin, int32_t worker) {
    (void)worker;
    Vandal *v = user;
    if (!begin || v->where != BEHIND_SCRATCH || v->kernel >= 0) return;
    v->scratch_end[-1] = 0;
    v->kernel = index;
}

static void guard_found(const Built *s, Where where, int64_t time, const char *kernel,
                        const char *what) {
    const strata_api *a = &s->c.api;
    Case *c = compiled_case(s->m->graph, 3, 1, time, V);
    Instance r;
    Found f = { 0 };
    instance_open(&r, &s->c, time, 1);
    instance_weights(&r, c);
    /* a worker's memory is the last in the arena, but for what rounds up its start */
    Vandal v = { where, (float *)((char *)r.arena.at + a->arena_bytes(time, 1) - STRATA_ALIGN),
                 -1 };
    instance_set_up(
        &r,
        (strata_setup){
            .gemm = stray_gemm, .gemm_user = &v, .profile = stray_profile, .profile_user = &v });
    note(&r,
         a->forward_backward(r.ctx.at, r.weights.at, r.train.at, r.arena.at, c->tokens, c->targets,
                             1, time, 1, 0, NULL, NULL, NULL),
         &f);
    if (v.kernel >= 0)
        kernel = strata_string(s->c.model, strata_kernels(s->c.model)[v.kernel].name);
    expect_found(&f, kernel, what);
    instance_close(&r);
    case_free(c);
}

static void guards(void **state) {
    Built s;
    make_wrong(CORRECT, 0);
    check_open(state, &s, "standard {}", 1, (CodegenOptions){ .passes.check = true });
    guard_found(&s, BEHIND_REGION, 64, "linear_weight_",
                ": wrote over guard words after the value of ");
    guard_found(&s, BEHIND_TOKENS, 50, "linear_weight_",
                ": wrote over guard words after the last token of the value of ");
    guard_found(&s, BEHIND_SCRATCH, 50, "", ": wrote over guard words after a worker's scratch");
    built_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_beyond),   cmocka_unit_test(loads_before),
        cmocka_unit_test(stores_beyond),  cmocka_unit_test(bf16_beyond),
        cmocka_unit_test(little_scratch), cmocka_unit_test(no_progress),
        cmocka_unit_test(freed_is_nan),   cmocka_unit_test(guards),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
