/* SPDX-License-Identifier: MIT
** Models built with --precision bf16: what the interpreter computes where products'
** operands are rounded to bfloat16, and what must be so of every build: the same bits for
** any number of workers, in any batch and with --check, decoding like the full pass.
**
** A value that lies, to float32's rounding, halfway between two bfloat16s may be rounded
** the other way than in the interpreter's float64, and all that follows then differs by
** bfloat16's rounding.  In a little case that is seldom: most cases must agree as those of
** float32 builds do, and all of them nearly.  A build that does not round agrees in none.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "bf16_model.h"
#include "compiled_spec.h"
#include "op.h"
#include "small_model.h"
#include "scratch.h"

/* == Rounding ============================================================= */

static float from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nearest bfloat16, of two as near the even one. */
static float nearest(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

static void check_rounding(uint32_t bits) {
    float x = from_bits(bits);
    double got = round_bf16(x);
    if (isnan(x) ? !isnan(got) : got != nearest(x) || !signbit(got) != !signbit(x))
        fail_msg("%a is rounded to %a, expected %a", x, got, nearest(x));
}

static void floats_are_rounded(void **state) {
    (void)state;
    static const uint32_t low[] = { 0, 1, 0x7fff, 0x8000, 0x8001, 0xffff };
    Random random = { 1 };
    for (uint32_t high = 0; high < 0x10000; high++)
        for (size_t i = 0; i < sizeof low / sizeof *low; i++)
            check_rounding(high << 16 | low[i]);
    for (int i = 0; i < 100000; i++)
        check_rounding((uint32_t)draw_below(&random, 0x10000) << 16
                       | (uint32_t)draw_below(&random, 0x10000));
}

/* What float64 says beyond float32 is not lost: next to a tie the nearer one. */
static void doubles_are_rounded_once(void **state) {
    (void)state;
    Random random = { 2 };
    for (int i = 0; i < 10000; i++) {
        uint32_t high = (uint32_t)(100 + draw_below(&random, 50)) << 23
            | (uint32_t)draw_below(&random, 128) << 16;
        double low = from_bits(high), up = from_bits(high + 0x10000), tie = (low + up) / 2;
        assert_true(round_bf16(tie * (1 + 0x1p-45)) == up
                    && round_bf16(tie * (1 - 0x1p-45)) == low);
        assert_true(round_bf16(-tie * (1 + 0x1p-45)) == -up
                    && round_bf16(-tie * (1 - 0x1p-45)) == -low);
    }
}

/* == Against the interpreter ============================================== */

/* Of how many cases the build agrees as float32 builds do, and of how many nearly. */
typedef struct Score {
    int cases, exact, near;
} Score;

/* Even a value near the input that is rounded the other way moves no result by more. */
static const Allowed one_flip = { 3e-2, 2e-1 };

static void judge(Score *s, const Compiled *m, const Case *c, Expected *e) {
    char why[512] = "";
    Instance r;
    instance_open(&r, m, c->batch * c->time, 1);
    instance_weights(&r, c);
    Allowed allowed = e->allowed;
    bool exact = compiled_agrees(&r, c, e, why, sizeof why);
    e->allowed = one_flip;
    bool near = exact || compiled_agrees(&r, c, e, why, sizeof why);
    e->allowed = allowed;
    s->cases++, s->exact += exact, s->near += near;
    instance_close(&r);
}

enum { CASES = 12 };

static void judge_both(const Built *rounded, const Built *plain, Score score[2]) {
    static const Extent extents[] = { { 1, 3 }, { 2, 2 }, { 1, 1 } };
    for (int i = 0; i < CASES; i++) {
        Extent x = extents[i % 3];
        Case *c = compiled_case(rounded->m->graph, 40 + (uint64_t)i, x.batch, x.time, VOCAB);
        Expected e;
        expected_open_bf16(&e, c);
        judge(&score[0], &rounded->c, c, &e);
        judge(&score[1], &plain->c, c, &e);
        expected_close(&e);
        case_free(c);
    }
}

static void models_agree_with_the_interpreter(void **state) {
    for (int i = 0; i < MODELS; i += compiled_every()) {
        Built rounded, plain;
        Score score[2] = { { 0 } };
        bf16_open(state, &rounded, &bf16_kinds[i], 2, 24,
                  (CodegenOptions){ .level = i % 2 * 2, .passes.bf16 = true });
        bf16_open(state, &plain, &bf16_kinds[i], 2, 24, (CodegenOptions){ .level = 0 });
        judge_both(&rounded, &plain, score);
        print_message("%s: %d of %d cases agree, %d nearly; not rounded: %d, %d\n",
                      bf16_kinds[i].name, score[0].exact, score[0].cases, score[0].near,
                      score[1].exact, score[1].near);
        if (4 * score[0].exact < 3 * CASES || score[0].near < CASES || score[1].exact > 0)
            fail_msg("%s: expected three cases of four to agree, all nearly, and none that is not "
                     "rounded",
                     bf16_kinds[i].name);
        built_close(&rounded), built_close(&plain);
    }
}

/* == The same bits ======================================================== */

typedef struct Results {
    float *logits, *gradients;
    strata_loss loss;
} Results;

/* Rounds the weights that another build of the model keeps as bfloat16. */
static void round_weights(Instance *r, const Built *other) {
    const strata_tensor *t = strata_tensors(r->c->model), *kept = strata_tensors(other->c.model);
    guarded_writable(&r->weights, true);
    for (int i = 0; i < r->c->model->tensors; i++)
        for (int k = 0; k < other->c.model->tensors; k++) {
            const char *name = strata_string(r->c->model, t[i].name);
            if (!kept[k].type || t[i].type
                || strcmp(name, strata_string(other->c.model, kept[k].name)))
                continue;
            float *w = instance_weight(r, name, NULL);
            for (int64_t n = 0; n < t[i].count; n++)
                w[n] = nearest(w[n]);
        }
    guarded_writable(&r->weights, false);
}

/* Of weights and ids that depend on nothing but the model's kind. */
static Results results_of(const Built *b, const Built *forward, int64_t batch, int64_t time,
                          int workers, bool training) {
    Instance r;
    instance_open(&r, &b->c, batch * time, workers);
    instance_fill(&r, 5);
    round_weights(&r, forward);
    int32_t *tokens = some_ids(&b->c, 1, batch * time), *targets = some_ids(&b->c, 2, batch * time);
    Results out = { .loss = { .struct_size = sizeof out.loss } };
    out.logits = logits_of(&r, tokens, batch, time);
    if (training) out.gradients = gradients_of(&r, tokens, targets, batch, time, &out.loss);
    free(tokens), free(targets);
    instance_close(&r);
    return out;
}

static void free_results(Results *r) { free(r->logits), free(r->gradients); }

static void expect_same(const Built *b, const Results *x, const Results *y, int64_t tokens) {
    same_floats("logit", x->logits, y->logits, tokens * VOCAB);
    if (!x->gradients || !y->gradients) return;
    same_floats("gradient", x->gradients, y->gradients, gradient_floats(&b->c));
    assert_true(x->loss.loss == y->loss.loss);
}

/* One chunk of tokens, several, and a few. */
static const struct {
    int64_t batch, time;
} extents[] = { { 3, 100 }, { 2, 300 }, { 1, 64 }, { 1, 1 } };
enum { EXTENTS = sizeof extents / sizeof *extents };

/* With any number of workers, in a --check build, which finds nothing, and without training, where
** what products and lookups take is kept as bfloat16. */
static void builds_and_workers_have_the_same_bits(void **state) {
    for (int i = 0; i < MODELS; i += compiled_every()) {
        Built b, checked, forward, forward_checked;
        bf16_open(state, &b, &bf16_kinds[i], 2, 24, (CodegenOptions){ .passes.bf16 = true });
        bf16_open(state, &checked, &bf16_kinds[i], 2, 24,
                  (CodegenOptions){ .passes.bf16 = true, .passes.check = true });
        bf16_open(state, &forward, &bf16_kinds[i], 2, 24,
                  (CodegenOptions){ .passes.bf16 = true, .passes.inference = true });
        bf16_open(state, &forward_checked, &bf16_kinds[i], 2, 24,
                  (CodegenOptions){
                      .passes.bf16 = true, .passes.inference = true, .passes.check = true });
        for (int k = 0; k < EXTENTS; k++) {
            int64_t batch = extents[k].batch, time = extents[k].time;
            Results one = results_of(&b, &forward, batch, time, 1, true),
                    other[] = { results_of(&b, &forward, batch, time, 2, true),
                                results_of(&b, &forward, batch, time, 3, true),
                                results_of(&checked, &forward, batch, time, 1 + k % 2, true),
                                results_of(&forward, &forward, batch, time, 1, false),
                                results_of(&forward_checked, &forward, batch, time, 2, false) };
            for (size_t n = 0; n < sizeof other / sizeof *other; n++) {
                expect_same(&b, &one, &other[n], batch * time);
                free_results(&other[n]);
            }
            free_results(&one);
        }
        built_close(&b), built_close(&checked), built_close(&forward),
            built_close(&forward_checked);
    }
}

/* Alone, its weights are packed by each task; in the batch, before all of them. */
static void a_sequence_is_the_same_in_a_batch(void **state) {
    for (int i = 0; i < MODELS; i += compiled_every()) {
        Built b;
        Instance r;
        bf16_open(state, &b, &bf16_kinds[i], 2, 24, (CodegenOptions){ .passes.bf16 = true });
        for (int k = 0; k < EXTENTS; k++) {
            int64_t batch = extents[k].batch, time = extents[k].time;
            instance_open(&r, &b.c, batch * time, 2);
            instance_fill(&r, 5);
            int32_t *tokens = some_ids(&b.c, 3, batch * time);
            float *all = logits_of(&r, tokens, batch, time);
            for (int64_t n = 0; n < batch; n++) {
                float *one = logits_of(&r, tokens + n * time, 1, time);
                same_floats("logit", one, all + n * time * VOCAB, time * VOCAB);
                free(one);
            }
            free(all), free(tokens);
            instance_close(&r);
        }
        built_close(&b);
    }
}

/* == Decoding ============================================================= */

enum { PROMPT = 7, LENGTH = 40, SEQUENCES = 3 };

/* Sums are added in another order than in the full pass, so that at some positions a value is
** rounded the other way. What sequences decode at once is what each decodes alone, in bits. */
static void expect_close(const char *name, const float *decoded, const float *all) {
    int exact = 0, positions = LENGTH - PROMPT + 1;
    for (int t = PROMPT - 1; t < LENGTH; t++) {
        double apart = difference(decoded + t * VOCAB, all + t * VOCAB, VOCAB);
        if (!(apart <= one_flip.value))
            fail_msg("%s: logits of position %d are %.1e from those of the full pass", name, t,
                     apart);
        exact += apart <= 3e-5;
    }
    if (4 * exact < 3 * positions)
        fail_msg("%s: only %d positions of %d are those of the full pass", name, exact, positions);
}

static void decoding_is_like_the_full_pass(void **state) {
    enum { FROM = (PROMPT - 1) * VOCAB, COUNT = LENGTH * VOCAB - FROM };
    static const int prompt[SEQUENCES] = { PROMPT, PROMPT, PROMPT };
    for (int i = 0; i < MODELS; i += compiled_every()) {
        Built b;
        Instance r;
        bf16_open(state, &b, &bf16_kinds[i], 2, 24,
                  (CodegenOptions){ .passes.bf16 = true, .passes.inference = i % 2 });
        instance_open(&r, &b.c, SEQUENCES * LENGTH, 1 + i % 2);
        instance_fill(&r, 5);
        int32_t *tokens = some_ids(&b.c, 4, SEQUENCES * LENGTH);
        float *at_once = decoded_logits(&r, tokens, SEQUENCES, LENGTH, prompt);
        for (int n = 0; n < SEQUENCES; n++) {
            float *all = logits_of(&r, tokens + n * LENGTH, 1, LENGTH),
                  *own = at_once + n * LENGTH * VOCAB;
            float *alone = decoded_logits(&r, tokens + n * LENGTH, 1, LENGTH, prompt);
            same_floats("next logit", alone + FROM, own + FROM, COUNT);
            expect_close(bf16_kinds[i].name, own, all);
            free(all), free(alone);
        }
        free(tokens), free(at_once);
        instance_close(&r);
        built_close(&b);
    }
}

/* == Training ============================================================= */

static void good(const Instance *r, int32_t status) {
    if (status) fail_msg("status %d: %s", status, r->c->api.message(r->ctx.at));
}

/* A step of two micro-batches is the sum of their gradients. */
static void micro_batches_add_up(void **state) {
    enum { TIME = 50 };
    Built b;
    Instance r;
    bf16_open(state, &b, &bf16_kinds[2], 2, 24, (CodegenOptions){ .passes.bf16 = true });
    instance_open(&r, &b.c, 2 * TIME, 2);
    instance_fill(&r, 5);
    int64_t count = gradient_floats(&b.c);
    int32_t *tokens = some_ids(&b.c, 6, 2 * TIME), *targets = some_ids(&b.c, 7, 2 * TIME);
    float *first = gradients_of(&r, tokens, targets, 1, TIME, NULL),
          *sum = calloc((size_t)count, sizeof *sum);
    good(&r,
         b.c.api.forward_backward(r.ctx.at, r.weights.at, r.train.at, r.arena.at, tokens + TIME,
                                  targets + TIME, 1, TIME, 1, STRATA_ACCUMULATE, NULL, NULL, NULL));
    memcpy(sum, r.train.at, (size_t)count * sizeof *sum);
    float *second = gradients_of(&r, tokens + TIME, targets + TIME, 1, TIME, NULL);
    assert_true(difference(first, second, count) > 0.1);
    for (int64_t i = 0; i < count; i++)
        first[i] += second[i];
    assert_true(difference(sum, first, count) < 1e-6);
    free(tokens), free(targets), free(first), free(second), free(sum);
    instance_close(&r);
    built_close(&b);
}

/* == What is no number ==================================================== */

/* The upper half of some NaNs is an infinity's. */
static void no_number_stays_none(void **state) {
    (void)state;
    Probe p = probe_new(1, 8, 1);
    p.sum = p.x; /* the head reads the embedding as it is */
    Graph *g = probe_end(&p, NULL);
    ModelInfo info = compiled_info(g, 4);
    Compiled c;
    Instance r;
    compiled_open(&c, g, &info, &(CodegenOptions){ .cpu = "native", .passes.bf16 = true });
    instance_open(&r, &c, 4, 1);
    instance_fill(&r, 1);
    guarded_writable(&r.weights, true);
    ((uint32_t *)(void *)instance_weight(&r, "p0", NULL))[3] = 0x7f800001;
    guarded_writable(&r.weights, false);
    float *logits = logits_of(&r, (const int32_t[]){ 1, 0, 2, 0 }, 1, 4);
    for (int i = 0; i < 4 * PROBE_VOCAB; i++)
        assert_true(isnan(logits[i]) == (i / PROBE_VOCAB % 2 == 1));
    free(logits);
    instance_close(&r);
    compiled_close(&c);
    graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_rounded),
        cmocka_unit_test(doubles_are_rounded_once),
        cmocka_unit_test(models_agree_with_the_interpreter),
        cmocka_unit_test(builds_and_workers_have_the_same_bits),
        cmocka_unit_test(a_sequence_is_the_same_in_a_batch),
        cmocka_unit_test(decoding_is_like_the_full_pass),
        cmocka_unit_test(micro_batches_add_up),
        cmocka_unit_test(no_number_stays_none),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
