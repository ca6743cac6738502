/* SPDX-License-Identifier: MIT
** Experts, compiled: values and gradients as the interpreter has them, token by token as the pass
** over whole sequences, the same bits for any number of threads; and buffers: what a step sums for
** them, over several batches too, and what an update makes of that.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "scratch.h"

enum { SEQUENCES = 3, TIME = 14, CONTEXT = 16, VOCAB = 13, SPEC = 2000, EXPERTS = 6 };

/* What moe has beside experts, and what its layer has. */
typedef struct Kind {
    const char *moe, *layer;
} Kind;

static const Kind kinds[] = {
    { "top = 2, hidden = 20", "" },
    { "top = 1, hidden = 300, score = 'softmax'", "" },
    { "top = 3, hidden = 17, groups = 3, top_groups = 2, shared = 1, scale = 2.5", "" },
    { "top = 6, hidden = 8, normalize = false", ", route = dllm { hidden = 6 }" },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void open_kind(void **state, Built *b, const Kind *k, CodegenOptions o) {
    char text[SPEC], path[SCRATCH_PATH];
    snprintf(text, sizeof text,
             "return model { name = 'm', vocab = %d, context = %d, dim = 16, norm = rmsnorm { eps "
             "= 1e-5 },\n"
             "  layers = times(2, layer { attention { heads = 4, rope = { theta = 100 } },\n"
             "  moe { experts = %d, %s }%s }) }\n",
             VOCAB, CONTEXT, EXPERTS, k->moe, k->layer);
    o.cpu = "native";
    built_open(b, scratch_path(state, "experts.lua", path), text, &o);
}

static void decoding_is_the_full_pass(void **state) {
    static const int prompt[SEQUENCES] = { 1, 5, 9 };
    for (int i = 0; i < 2 * KINDS; i++) {
        Built b;
        Instance r;
        open_kind(state, &b, &kinds[i / 2],
                  (CodegenOptions){ .passes.check = i % 2, .passes.inference = !(i % 2) });
        instance_open(&r, &b.c, SEQUENCES * TIME, 1 + i % 2);
        instance_fill(&r, 7 + (uint64_t)i);
        instance_set_up(&r, (strata_setup){ .flags = STRATA_AS_GENERATED });
        int32_t *ids = some_ids(&b.c, 3, SEQUENCES * TIME);
        float *whole = logits_of(&r, ids, SEQUENCES, TIME),
              *steps = decoded_logits(&r, ids, SEQUENCES, TIME, prompt);
        for (int s = 0; s < SEQUENCES; s++) {
            int first = s * TIME + 4 * s;
            double apart = difference(steps + first * VOCAB, whole + first * VOCAB,
                                      (TIME - 4 * s) * VOCAB);
            if (apart > 3e-5) fail_msg("kind %d, sequence %d: differs by %g", i / 2, s, apart);
        }
        free(whole), free(steps), free(ids);
        instance_close(&r);
        built_close(&b);
    }
}

static void experts_agree_with_the_interpreter(void **state) {
    static const Extent extent[] = { { 3, TIME }, { 2, 1 }, { 70, CONTEXT }, { 0 } };
    int shaky = 0;
    for (int i = 0; i < 2 * KINDS; i++) {
        char why[700];
        Built b;
        open_kind(state, &b, &kinds[i / 2], (CodegenOptions){ 0 });
        Graph *g = b.m->graph;
        b.m->graph = NULL;
        CodegenOptions o = { .cpu = "native",
                             .passes = { .keep = (Keep)(i % 3), .check = i % 4 == 3 },
                             .chunk = i % 2 ? 64 : 0 };
        Answer answer = graph_answer(g, 1 + (uint64_t)i, &o, extent, why, sizeof why);
        shaky += answer == SHAKY;
        if (answer == DIFFERS) fail_msg("kind %d: %s", i / 2, why);
        built_close(&b);
    }
    assert_true(shaky <= 2);
}

/* Rounded operands make sums that differ by a flip of the last bit of one at most, mostly not. */
static void rounded_products_agree(void **state) {
    int exact = 0, cases = 0;
    for (int i = 0; i < KINDS - 1; i++) {
        Built b;
        open_kind(state, &b, &kinds[i], (CodegenOptions){ .passes.bf16 = true });
        for (uint64_t seed = 1; seed <= 4; seed++, cases++) {
            char why[700];
            Instance r;
            Expected e;
            Case *c = compiled_case(b.m->graph, seed, 1, 3, VOCAB);
            expected_open_bf16(&e, c);
            instance_open(&r, &b.c, 3, 1);
            instance_weights(&r, c);
            exact += compiled_agrees(&r, c, &e, why, sizeof why);
            instance_close(&r);
            expected_close(&e);
            case_free(c);
        }
        built_close(&b);
    }
    assert_true(2 * exact >= cases);
}

/* What is not to be trained keeps the experts' matrices as bfloat16, in half the bytes: the same
** numbers but for roundings, of whole sequences and token by token. */
static void matrices_are_kept_rounded(void **state) {
    static const int prompt[SEQUENCES] = { 1, 5, 9 };
    for (int i = 0; i < KINDS - 1; i++) {
        Built b[2];
        Instance r[2];
        float *whole[2];
        for (int k = 0; k < 2; k++) {
            open_kind(state, &b[k], &kinds[i],
                      (CodegenOptions){ .passes = { .bf16 = true, .inference = k == 1 } });
            instance_open(&r[k], &b[k].c, SEQUENCES * TIME, 2);
            instance_fill(&r[k], 3);
        }
        const strata_model *m = b[1].c.model;
        for (int t = 0; t < m->tensors; t++) {
            const char *name = strata_string(m, strata_tensors(m)[t].name);
            if (strstr(name, ".experts.")) assert_int_equal((int)strata_tensors(m)[t].type, 1);
        }
        int32_t *ids = some_ids(&b[0].c, 3, SEQUENCES * TIME);
        for (int k = 0; k < 2; k++)
            whole[k] = logits_of(&r[k], ids, SEQUENCES, TIME);
        float *steps = decoded_logits(&r[1], ids, SEQUENCES, TIME, prompt);
        double apart[] = { difference(whole[0], whole[1], SEQUENCES * TIME * VOCAB),
                           difference(steps, whole[1], TIME * VOCAB) };
        assert_true(apart[0] < 0.03 && apart[1] < 0.03);
        free(whole[0]), free(whole[1]), free(steps), free(ids);
        for (int k = 0; k < 2; k++)
            instance_close(&r[k]), built_close(&b[k]);
    }
}

/* == Buffers ============================================================== */

static const char *const buffer = "layers.1.mlp.router.balance_bias";

static float *summed(Instance *r, const int32_t *ids, int64_t batch, uint32_t flags) {
    strata_loss loss = { .struct_size = sizeof loss };
    int status = r->c->api.forward_backward(r->ctx.at, r->weights.at, r->train.at, r->arena.at, ids,
                                            ids, batch, TIME, 0.5f, flags, NULL, NULL, &loss);
    assert_int_equal(status, STRATA_OK);
    return instance_gradient(r, buffer);
}

static void threads_change_no_bit(void **state) {
    for (int i = 0; i < KINDS; i++) {
        Built b;
        float *first = NULL;
        open_kind(state, &b, &kinds[i], (CodegenOptions){ .chunk = 64 });
        size_t bytes = (size_t)gradient_floats(&b.c) * sizeof(float);
        for (int workers = 1; workers <= 3; workers++) {
            Instance r;
            strata_loss loss = { .struct_size = sizeof loss };
            instance_open(&r, &b.c, 40 * TIME, workers);
            instance_fill(&r, 5);
            int32_t *ids = some_ids(&b.c, 3, 40 * TIME);
            float *g = gradients_of(&r, ids, ids, 40, TIME, &loss);
            if (!first) first = g;
            else {
                assert_memory_equal(first, g, bytes);
                free(g);
            }
            free(ids);
            instance_close(&r);
        }
        free(first);
        built_close(&b);
    }
}

/* The definition, in float32 as compiled. */
static void expect_rule(const float *old, const float *load, const float *found) {
    double mean = 0, signs = 0, sign[EXPERTS];
    for (int e = 0; e < EXPERTS; e++)
        mean += load[e] / EXPERTS;
    for (int e = 0; e < EXPERTS; e++)
        signs += sign[e] = (mean > load[e]) - (mean < load[e]);
    for (int e = 0; e < EXPERTS; e++)
        if (fabs(found[e] - (old[e] + 1e-3 * (sign[e] - signs / EXPERTS))) > 1e-7)
            fail_msg("expert %d: found %g", e, found[e]);
}

/* The norm of all gradients has no part of a statistic. */
static void expect_norm_of_gradients(Instance *r, int64_t n) {
    double all, squares = 0;
    const float *g = r->train.at;
    const float *end = instance_gradient(r, "layers.0.mlp.router.balance_bias");
    assert_int_equal(r->c->api.sum_squares(r->ctx.at, g, 0, n, &all), STRATA_OK);
    for (; g < end; g++)
        squares += (double)*g * *g;
    assert_true(fabs(all - squares) < 1e-6 * squares);
}

static void an_update_follows_the_rule(void **state) {
    for (int check = 0; check < 2; check++) {
        Built b;
        Instance r;
        float old[EXPERTS], load[EXPERTS];
        open_kind(state, &b, &kinds[0], (CodegenOptions){ .passes.check = check });
        instance_open(&r, &b.c, SEQUENCES * TIME, 2);
        instance_fill(&r, 11);
        int32_t *ids = some_ids(&b.c, 3, SEQUENCES * TIME);
        const strata_api *a = &b.c.api;
        int64_t n = b.c.model->gradients;
        memset((float *)r.train.at + n, 0, 2 * (size_t)n * sizeof(float));
        memcpy(load, summed(&r, ids, 1, 0), sizeof load);
        const float *sums = summed(&r, ids + TIME, 2, STRATA_ACCUMULATE);
        double total = 0;
        for (int e = 0; e < EXPERTS; e++)
            assert_true(sums[e] >= load[e]), total += sums[e];
        assert_true(total == 2.0 * SEQUENCES * TIME); /* not scaled as gradients are */
        memcpy(load, sums, sizeof load);
        expect_norm_of_gradients(&r, n);
        float *bias = instance_weight(&r, buffer, NULL);
        int64_t at = sums - (const float *)r.train.at;
        memcpy(old, bias, sizeof old);
        strata_adamw how = instance_adamw(1, 1);
        guarded_writable(&r.weights, true);
        assert_int_equal(a->update(r.ctx.at, r.weights.at, r.train.at, 0, at, &how), STRATA_OK);
        assert_memory_equal(bias, old, sizeof old);
        assert_int_equal(a->update(r.ctx.at, r.weights.at, r.train.at, at, n - at, &how),
                         STRATA_OK);
        expect_rule(old, load, bias);
        for (int part = 1; part < 3; part++)
            for (int e = 0; e < EXPERTS; e++)
                assert_true(sums[part * n + e] == 0);
        free(ids);
        instance_close(&r);
        built_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_is_the_full_pass),
        cmocka_unit_test(experts_agree_with_the_interpreter),
        cmocka_unit_test(rounded_products_agree),
        cmocka_unit_test(matrices_are_kept_rounded),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(an_update_follows_the_rule),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
