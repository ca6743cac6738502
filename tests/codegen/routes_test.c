/* SPDX-License-Identifier: MIT
** Routes, compiled: what each computes token by token is what the pass over whole
** sequences computes; work on some tokens has the gradients of the same work on all;
** none routed, all routed, sequences of one token; random numbers that depend on no
** thread; shares that are reported and forced.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "scratch.h"

enum { SEQUENCES = 3, TIME = 14, CONTEXT = 16, VOCAB = 13, SPEC = 2000 };

/* A residual, what stands in the braces of attention beside heads, in those of mlp, which may end
** them and begin those of another sublayer, and the route of the two layers in the middle. */
typedef struct Kind {
    const char *residual, *attention, *mlp, *route;
} Kind;

static const Kind kinds[] = {
    { "standard {}", "rope = { theta = 100 }", "", "dtr {}" },
    { "haares { block_size = 4 }", "kv_heads = 2, rope = { theta = 100 }", "",
      "dtr { bias = false }" },
    { "attnres { blocks = 2 }", "kv_heads = 1, qk_norm = true, bias = true", "",
      "dtr { bypass = 'none' }" },
    { "hyper { streams = 2 }", "rope = { theta = 100 }", "", "dtr { choice = 'skip' }" },
    { "standard {}", "rope = { theta = 100 }", "", "mod { capacity = 0.4 }" },
    { "rezero {}", "kv_heads = 2", "", "mod { capacity = 0.7, gate = 'sigmoid' }" },
    { "standard {}", "rope = { theta = 100 }", "", "dllm { hidden = 6 }" },
    { "layerscale {}", "kv_heads = 2, rope = { theta = 100 }, bias = true", "",
      "dllm { hidden = 6, reserve = 0, target = 0.4, weight = 0.3 }" },
    { "standard {}", "rope = { theta = 100 }", "", "stochastic_depth { keep = 0.5 }" },
    { "standard {}", "kv_heads = 2",
      "}, moe { experts = 4, top = 2, hidden = 8, by_token = true, name = 'experts'",
      "stochastic_depth { keep = 0.5 }" },
    /* losses, and the load of experts, are those of the tokens that execute */
    { "standard {}", "",
      "}, moe { experts = 4, top = 2, hidden = 8, name = 'experts' }, sublayer { forward = "
      "function(m, site, x) return m:linear(site, 'o', x, m.dim), 0.3 * mean(x * x, 1) + 0.2 * "
      "m:nll(x) end } { name = 'lossy'",
      "dllm { hidden = 6 }" },
    { "standard {}", "gate = {}",
      "}, sublayer { forward = function(m, site, x) return m:linear(site, 'o', x, m.dim), 0.3 * "
      "mean(x * x, 1) end } { name = 'lossy'",
      "mod { capacity = 0.4 }" },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void open_kind(void **state, Built *b, const Kind *k, CodegenOptions o) {
    char text[SPEC], path[SCRATCH_PATH];
    snprintf(text, sizeof text,
             "local function one(r) return layer { attention { heads = 4, %s }, mlp { hidden = 24, "
             "%s }, route = r } end\n"
             "return model { name = 'm', vocab = %d, context = %d, dim = 16, norm = rmsnorm { eps "
             "= 1e-5 }, residual = %s,\n"
             "  route_penalty = 0.01, layers = { one(), one(%s), one(%s), one() } }\n",
             k->attention, k->mlp, VOCAB, CONTEXT, k->residual, k->route, k->route);
    o.cpu = "native";
    built_open(b, scratch_path(state, "route.lua", path), text, &o);
}

/* == Token by token ======================================================= */

static void decoding_is_the_full_pass(void **state) {
    static const int prompt[SEQUENCES] = { 1, 5, 9 };
    for (int i = 0; i < KINDS; i++)
        for (int check = 0; check < 2; check++) {
            Built b;
            Instance r;
            open_kind(state, &b, &kinds[i],
                      (CodegenOptions){ .passes.check = check, .passes.inference = !check });
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
                if (apart > 3e-5)
                    fail_msg("%s, sequence %d: differs by %g", kinds[i].route, s, apart);
            }
            free(whole), free(steps), free(ids);
            instance_close(&r);
            built_close(&b);
        }
}

static void choosing_among_later_tokens_is_refused(void **state) {
    Built b;
    Instance r;
    int32_t id = 1;
    float row[VOCAB];
    open_kind(state, &b,
              &(Kind){ "standard {}", "", "", "dtr { choice = 'expert', capacity = 0.3 }" },
              (CodegenOptions){ 0 });
    instance_open(&r, &b.c, TIME, 1);
    instance_fill(&r, 1);
    assert_string_equal(strata_string(b.c.model, b.c.model->ahead), "layers.1.attention");
    assert_string_equal(strata_string(b.c.model, b.c.model->acausal), "");
    void *at = aligned_alloc(STRATA_ALIGN, (b.c.api.state_bytes(CONTEXT) + 63) / 64 * 64);
    assert_int_equal(b.c.api.state_init(r.ctx.at, at, CONTEXT), STRATA_OK);
    assert_int_equal(b.c.api.prefill(r.ctx.at, r.weights.at, at, r.arena.at, &id, 1, row),
                     STRATA_ERROR_MISSING);
    assert_non_null(
        strstr(b.c.api.message(r.ctx.at), "chooses among later tokens at layers.1.attention"));
    free(at);
    instance_close(&r);
    built_close(&b);
}

/* == Against the interpreter ============================================== */

/* Of dllm the interpreter runs the form on some tokens, a training step the one on all: so each
** is checked by the other. */
static void routes_agree_with_the_interpreter(void **state) {
    static const Kind more[] = {
        { "standard {}", "kv_heads = 2", "", "dtr { choice = 'expert', capacity = 0.3 }" },
        { "haares { block_size = 2 }", "rope = { theta = 100 }", "",
          "dtr { choice = 'expert', capacity = 1, bypass = 'none' }" },
        { "standard {}", "", "", "mod { capacity = 1 }" },
        { "standard {}", "", "", "mod { capacity = 0.01 }" },
        { "standard {}", "", "", "dllm { hidden = 4, reserve = 16 }" },
    };
    static const Extent extent[] = { { 3, TIME }, { 2, 1 }, { 1, CONTEXT }, { 0 } };
    int shaky = 0;
    for (int i = 0; i < KINDS + 5; i++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            char why[700];
            Built b;
            open_kind(state, &b, i < KINDS ? &kinds[i] : &more[i - KINDS], (CodegenOptions){ 0 });
            Graph *g = b.m->graph;
            b.m->graph = NULL;
            CodegenOptions o = { .cpu = "native", .passes.keep = (Keep)(i % 3) };
            Answer answer = graph_answer(g, seed, &o, extent, why, sizeof why);
            shaky += answer == SHAKY;
            if (answer == DIFFERS)
                fail_msg("%s, seed %d: %s", (i < KINDS ? &kinds[i] : &more[i - KINDS])->route,
                         (int)seed, why);
            built_close(&b);
        }
    assert_true(shaky <= 6);
}

/* == Random numbers, shares =============================================== */

static float *drawn(Instance *r, const int32_t *ids, const int32_t *targets, uint64_t draw) {
    strata_loss loss = { .struct_size = sizeof loss, .draw = draw };
    return gradients_of(r, ids, targets, SEQUENCES, TIME, &loss);
}

static const Kind noisy[] = {
    { "standard {}", "dropout = 0.3", "dropout = 0.5", "dtr {}" },
    { "standard {}", "", "dropout = 0.5", "mod { capacity = 0.5 }" },
    { "standard {}", "", "", "dllm { hidden = 6, reserve = 1, target = 0.5, weight = 1 }" },
    { "standard {}", "", "", "stochastic_depth { keep = 0.1 }" },
};
enum { NOISY = sizeof noisy / sizeof *noisy };

static void draws_depend_on_their_seed_alone(void **state) {
    for (int i = 0; i < NOISY; i++) {
        Built b;
        Instance one, three;
        open_kind(state, &b, &noisy[i], (CodegenOptions){ .passes.check = i % 2 });
        instance_open(&one, &b.c, SEQUENCES * TIME, 1);
        instance_open(&three, &b.c, SEQUENCES * TIME, 3);
        instance_fill(&one, 5), instance_fill(&three, 5);
        int32_t *ids = some_ids(&b.c, 3, SEQUENCES * TIME),
                *targets = some_ids(&b.c, 4, SEQUENCES * TIME);
        size_t bytes = (size_t)gradient_floats(&b.c) * sizeof(float);
        float *none = drawn(&one, ids, targets, 0), *a = drawn(&one, ids, targets, 77),
              *again = drawn(&three, ids, targets, 77);
        float *other = drawn(&one, ids, targets, 78);
        assert_memory_equal(a, again, bytes);
        assert_memory_not_equal(a, other, bytes);
        assert_memory_not_equal(a, none, bytes);
        free(none), free(a), free(again), free(other), free(ids), free(targets);
        instance_close(&one), instance_close(&three);
        built_close(&b);
    }
}

/* Cross entropy of sequences from 'first' on, which are told to be the rows from 'row' on. */
static double drawn_loss(Instance *r, const int32_t *ids, int64_t first, int64_t count,
                         int64_t row) {
    strata_loss loss = { .struct_size = sizeof loss, .draw = 77, .row = row };
    free(gradients_of(r, ids + first * TIME, ids + first * TIME, count, TIME, &loss));
    return loss.cross_entropy;
}

/* A sequence draws the same in any part of a batch that says where it lies. */
static void draws_depend_on_the_row_of_the_whole_batch(void **state) {
    for (int i = 0; i < NOISY; i++) {
        Built b;
        Instance r;
        open_kind(state, &b, &noisy[i], (CodegenOptions){ .passes.check = i % 2 });
        instance_open(&r, &b.c, SEQUENCES * TIME, 2);
        instance_fill(&r, 5);
        int32_t *ids = some_ids(&b.c, 3, SEQUENCES * TIME);
        double whole = drawn_loss(&r, ids, 0, SEQUENCES, 0), rows = 0, others = 0, far = 0;
        for (int64_t k = 0; k < SEQUENCES; k++) {
            rows += drawn_loss(&r, ids, k, 1, k) / SEQUENCES;
            others += drawn_loss(&r, ids, k, 1, 0) / SEQUENCES;
            far += drawn_loss(&r, ids, k, 1, (INT64_C(1) << 40) + k) / SEQUENCES;
        }
        assert_true(fabs(rows - whole) < 1e-6);
        assert_true(fabs(others - whole) > 1e-5 && fabs(far - whole) > 1e-5);
        free(ids);
        instance_close(&r);
        built_close(&b);
    }
}

static void rows_that_no_batch_has_are_refused(void **state) {
    static const int64_t wrong[] = { -1, INT64_MIN, INT64_MAX / TIME, INT64_MAX };
    Built b;
    Instance r;
    open_kind(state, &b, &noisy[0], (CodegenOptions){ 0 });
    instance_open(&r, &b.c, SEQUENCES * TIME, 1);
    instance_fill(&r, 5);
    int32_t *ids = some_ids(&b.c, 3, SEQUENCES * TIME);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        strata_loss loss = { .struct_size = sizeof loss, .row = wrong[i] };
        assert_int_equal(b.c.api.forward_backward(r.ctx.at, r.weights.at, r.train.at, r.arena.at,
                                                  ids, ids, SEQUENCES, TIME, 1, 0, NULL, NULL,
                                                  &loss),
                         STRATA_ERROR_ARGUMENT);
        assert_non_null(strstr(b.c.api.message(r.ctx.at), "the row of the batch is "));
    }
    free(ids);
    instance_close(&r);
    built_close(&b);
}

/* Whole sequences skip a layer, as often as they should: of four layers the third keeps 0.55. */
static void sequences_skip_layers(void **state) {
    enum { DRAWS = 200 };
    Built b;
    Instance r;
    int taken = 0, odd = 0;
    open_kind(state, &b, &(Kind){ "standard {}", "", "", "stochastic_depth { keep = 0.4 }" },
              (CodegenOptions){ 0 });
    instance_open(&r, &b.c, SEQUENCES * TIME, 1);
    instance_fill(&r, 2);
    int32_t *ids = some_ids(&b.c, 3, SEQUENCES * TIME);
    for (uint64_t draw = 0; draw <= DRAWS; draw++) {
        double routed[2];
        strata_loss loss = { .struct_size = sizeof loss, .draw = draw, .routed = routed };
        free(gradients_of(&r, ids, ids, SEQUENCES, TIME, &loss));
        double sequences = routed[1] * SEQUENCES;
        assert_true(fabs(sequences - round(sequences)) < 1e-6);
        if (!draw) assert_true(sequences > SEQUENCES - 1e-6);
        else taken += (int)round(sequences), odd += routed[0] != routed[1];
    }
    double share = (double)taken / (DRAWS * SEQUENCES);
    if (!(share > 0.47 && share < 0.63 && odd > 50)) fail_msg("took %g, %d differ", share, odd);
    free(ids);
    instance_close(&r);
    built_close(&b);
}

/* The straight-through gradient reaches the router; decisions that are fixed give it none. */
static void gumbel_trains_the_router(void **state) {
    Built b;
    Instance r;
    open_kind(state, &b, &kinds[6], (CodegenOptions){ 0 });
    instance_open(&r, &b.c, SEQUENCES * TIME, 1);
    instance_fill(&r, 2);
    int32_t *ids = some_ids(&b.c, 3, SEQUENCES * TIME),
            *targets = some_ids(&b.c, 4, SEQUENCES * TIME);
    for (uint64_t draw = 0; draw < 2; draw++) {
        float most = 0;
        free(drawn(&r, ids, targets, draw));
        const float *g = instance_gradient(&r, "layers.1.router.out.weight");
        for (int k = 0; k < 12; k++)
            most = fmaxf(most, fabsf(g[k]));
        assert_true(draw ? most > 1e-6f : most == 0);
    }
    free(ids), free(targets);
    instance_close(&r);
    built_close(&b);
}

static void expect_shares(Instance *r, const int32_t *ids, double share) {
    double routed[2] = { -1, -1 };
    strata_loss loss = { .struct_size = sizeof loss, .routed = routed };
    assert_int_equal(r->c->model->routed, 2);
    free(gradients_of(r, ids, ids, SEQUENCES, TIME, &loss));
    assert_true(fabs(routed[0] - share) < 1e-9 && fabs(routed[1] - share) < 1e-9);
}

static void shares_are_reported_and_forced(void **state) {
    static const struct {
        const char *route;
        double share;
    } row[] = {
        { "mod { capacity = 0.4 }", 5.0 / TIME },
        { "mod { capacity = 0.01 }", 1.0 / TIME },
        { "dtr { choice = 'skip' }", 0 },
        { "dtr { choice = 'expert', capacity = 1 }", 1 },
    };
    for (int i = 0; i < 4; i++) {
        Built b;
        Instance r;
        open_kind(state, &b, &(Kind){ "standard {}", "", "", row[i].route },
                  (CodegenOptions){ .passes.check = true });
        instance_open(&r, &b.c, SEQUENCES * TIME, 2);
        instance_fill(&r, 4);
        int32_t *ids = some_ids(&b.c, 3, SEQUENCES * TIME);
        assert_string_equal(strata_routed(b.c.model, 1),
                            strstr(row[i].route, "mod") ? "layers.2" : "layers.2.attention");
        expect_shares(&r, ids, row[i].share);
        for (int half = 0; half <= 2; half++) {
            instance_set_up(&r, (strata_setup){ .routed = 1 + 500000 * half });
            expect_shares(&r, ids, 0.5 * half);
        }
        free(ids);
        instance_close(&r);
        built_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_is_the_full_pass),
        cmocka_unit_test(choosing_among_later_tokens_is_refused),
        cmocka_unit_test(routes_agree_with_the_interpreter),
        cmocka_unit_test(draws_depend_on_their_seed_alone),
        cmocka_unit_test(draws_depend_on_the_row_of_the_whole_batch),
        cmocka_unit_test(rows_that_no_batch_has_are_refused),
        cmocka_unit_test(sequences_skip_layers),
        cmocka_unit_test(gumbel_trains_the_router),
        cmocka_unit_test(shares_are_reported_and_forced),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
