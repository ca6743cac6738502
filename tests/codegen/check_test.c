/*
** Builds with --check: they compute the same bits as builds without, which also
** says that sharing memory between values changes nothing; and they find what
** is put wrong here on purpose, between the compiler's stages: row kernels with
** a wrong stride or too little scratch, values whose memory is given up too
** early, and writes over the guard words from callbacks.
**
** Calls of the compiler's own functions come here first (the linker's --wrap).
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "plan.h"
#include "rows.h"
#include "scratch_spec.h"
#include "strata.h"

enum { V = 13, CONTEXT = 100 };

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
    int seen;         /* kernels to which it could be done */
    char kernel[200]; /* the one it was done to */
} wrong;

static void make_wrong(Mistake mistake, int at) {
    memset(&wrong, 0, sizeof wrong);
    wrong.mistake = mistake;
    wrong.at = at;
}

static bool is_result(const Rows *r, int operand) {
    for (int i = 0; i < r->nvalue; i++)
        for (int k = 0; k < r->value[i].nout; k++)
            if (r->value[i].out[k] == operand) return true;
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
        snprintf(wrong.kernel, sizeof wrong.kernel, "%s", name);
        if (small) changed.scratch = 0;
        else *stride = wrong_stride(kept);
    }
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

/* == Models =============================================================== */

typedef struct Subject {
    Model *spec;
    Compiled c;
} Subject;

static const char layer_text[] = "layer { attention { heads = 4, kv_heads = 2, rope = { theta = "
                                 "10000 } }, mlp { hidden = 24, activation = 'swiglu' } }";

static Model *load(void **state, const char *residual, int layers) {
    return scratch_model(state,
                         "return model { name = 'm', vocab = %d, context = %d, dim = 24, norm = "
                         "rmsnorm { eps = 1e-6 },\n"
                         "residual = %s, layers = times(%d, %s) }",
                         V, CONTEXT, residual, layers, layer_text);
}

static void compile(Subject *s, Model *m, CodegenOptions o) {
    ModelInfo info = compiled_info(m->graph, CONTEXT);
    o.cpu = "native";
    s->spec = m;
    compiled_open(&s->c, m->graph, &info, &o);
}

/* == The same bits ======================================================== */

typedef struct Results {
    float *logits, *nll, *gradients, *next;
    strata_loss loss, step;
} Results;

static void good(const Instance *r, int32_t status) {
    if (status) fail_msg("status %d: %s", status, r->c->api.message(r->ctx.at));
}

/* Logits of the position after a prompt, then of one more, by way of the caches. */
static void decode(Instance *r, const Case *c, float *next) {
    const strata_api *a = &r->c->api;
    Guarded states;
    guarded_open(&states, a->state_bytes(CONTEXT));
    void *state = states.at;
    good(r, a->state_init(r->ctx.at, state, CONTEXT));
    good(r, a->prefill(r->ctx.at, r->weights.at, state, r->arena.at, c->tokens, c->time, next));
    if (c->time < CONTEXT)
        good(r, a->decode(r->ctx.at, r->weights.at, &state, 1, r->arena.at, c->tokens, next + V));
    guarded_close(&states);
}

static Results compute(const Compiled *compiled, const Case *c, int workers) {
    int64_t n = c->batch * c->time;
    const strata_api *a = &compiled->api;
    size_t gradients = (size_t)compiled->model->gradients * sizeof(float);
    Results out = { malloc((size_t)(n * V) * sizeof(float)),
                    malloc((size_t)n * sizeof(float)),
                    malloc(gradients),
                    calloc(2 * V, sizeof(float)),
                    { .struct_size = sizeof out.loss },
                    { .struct_size = sizeof out.step } };
    Instance r;
    instance_open(&r, compiled, n, workers);
    instance_weights(&r, c);
    good(&r,
         a->logits(r.ctx.at, r.weights.at, r.arena.at, c->tokens, c->batch, c->time, out.logits));
    good(&r,
         a->loss(r.ctx.at, r.weights.at, r.arena.at, c->tokens, c->targets, c->batch, c->time,
                 out.nll, &out.loss));
    good(&r,
         a->forward_backward(r.ctx.at, r.weights.at, r.train.at, r.arena.at, c->tokens, c->targets,
                             c->batch, c->time, 1, 0, NULL, NULL, &out.step));
    memcpy(out.gradients, r.train.at, gradients);
    decode(&r, c, out.next);
    instance_close(&r);
    return out;
}

static void free_results(Results *r) {
    free(r->logits), free(r->nll), free(r->gradients), free(r->next);
}

static void same(const char *what, const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) || !isfinite(a[i]))
            fail_msg("%s %lld: %a and %a", what, (long long)i, a[i], b[i]);
}

static void compare(const Subject *plain, const Subject *checked, Extent x, int workers) {
    Case *c = compiled_case(plain->spec->graph, 3, x.batch, x.time, V);
    Results a = compute(&plain->c, c, 1), b = compute(&checked->c, c, workers);
    same("logit", a.logits, b.logits, x.batch * x.time * V);
    same("nll", a.nll, b.nll, x.batch * x.time);
    same("gradient", a.gradients, b.gradients, plain->c.model->gradients);
    same("next logit", a.next, b.next, 2 * V);
    assert_true(a.loss.loss == b.loss.loss && a.step.loss == b.step.loss);
    free_results(&a), free_results(&b);
    case_free(c);
}

static void same_bits(void **state) {
    static const struct {
        const char *residual;
        int layers, level;
    } mixers[] = {
        { "standard {}", 2, 2 },
        { "attnres { blocks = 2 }", 2, 0 },
        { "attnres { full = true, heads = 2, query = 'input' }", 2, 0 },
        { "attnres { full = true }", 8, 0 }, /* reads of more rows than are unrolled */
        { "attnres { block_size = 2, kernel = 'linear', rank = 3 }", 2, 0 },
        { "haares { blocks = 2 }", 2, 2 },
        { "highway {}", 2, 0 },
        { "denseformer {}", 2, 0 },
    };
    static const Extent extents[] = { { 3, 100 }, { 1, 64 }, { 1, 1 } };
    make_wrong(CORRECT, 0);
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        Model *m = load(state, mixers[i].residual, mixers[i].layers);
        Subject plain, checked;
        compile(&plain, m, (CodegenOptions){ .level = mixers[i].level });
        compile(&checked, m, (CodegenOptions){ .level = mixers[i].level, .passes.check = true });
        for (size_t k = 0; k < sizeof extents / sizeof *extents; k++)
            for (int workers = 1; workers <= 2; workers++)
                compare(&plain, &checked, extents[k], workers);
        compiled_close(&plain.c), compiled_close(&checked.c);
        spec_free(m);
    }
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
static Found find(const Subject *s, Extent x, int workers) {
    const strata_api *a = &s->c.api;
    int64_t n = x.batch * x.time;
    Found f = { 0 };
    Case *c = compiled_case(s->spec->graph, 3, x.batch, x.time, V);
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
        Model *m = load(state, "attnres { full = true, heads = 2 }", 1);
        Subject s;
        make_wrong(mistake, tried);
        compile(&s, m, (CodegenOptions){ .passes.check = true, .passes.bf16 = bf16 });
        seen = wrong.seen;
        Found f = find(&s, bf16 ? (Extent){ 1, 2 } : (Extent){ 2, 40 }, 1 + tried / every % 2);
        expect_found(&f, wrong.kernel, what);
        compiled_close(&s.c);
        spec_free(m);
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
    Model *m = load(state, "standard {}", 1);
    Subject s;
    make_wrong(WIDE_STORE, 0);
    compile(&s, m, (CodegenOptions){ .passes.check = true, .passes.inference = true });
    const strata_api *a = &s.c.api;
    Case *c = compiled_case(m->graph, 3, 1, 40, V);
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
        expect_found(&f, wrong.kernel, "stores to beyond operand");
    }
    guarded_close(&states);
    instance_close(&r);
    case_free(c);
    compiled_close(&s.c);
    spec_free(m);
}

/* == Freed memory ========================================================= */

static int count_nan(const Subject *s, int64_t time) {
    const strata_api *a = &s->c.api;
    Case *c = compiled_case(s->spec->graph, 3, 1, time, V);
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
    Model *m = load(state, "standard {}", 2);
    Subject s;
    make_wrong(mistake, at);
    compile(&s, m, (CodegenOptions){ .passes.check = true, .passes.inference = true });
    int nan = count_nan(&s, 30);
    compiled_close(&s.c);
    spec_free(m);
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

static void guard_found(const Subject *s, Where where, int64_t time, const char *kernel,
                        const char *what) {
    const strata_api *a = &s->c.api;
    Case *c = compiled_case(s->spec->graph, 3, 1, time, V);
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
    Model *m = load(state, "standard {}", 1);
    Subject s;
    make_wrong(CORRECT, 0);
    compile(&s, m, (CodegenOptions){ .passes.check = true });
    guard_found(&s, BEHIND_REGION, 64, "linear_weight_",
                ": wrote over guard words after the value of ");
    guard_found(&s, BEHIND_TOKENS, 50, "linear_weight_",
                ": wrote over guard words after the last token of the value of ");
    guard_found(&s, BEHIND_SCRATCH, 50, "", ": wrote over guard words after a worker's scratch");
    compiled_close(&s.c);
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),    cmocka_unit_test(loads_beyond),
        cmocka_unit_test(loads_before), cmocka_unit_test(stores_beyond),
        cmocka_unit_test(bf16_beyond),  cmocka_unit_test(little_scratch),
        cmocka_unit_test(no_progress),  cmocka_unit_test(freed_is_nan),
        cmocka_unit_test(guards),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
