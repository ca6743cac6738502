/* SPDX-License-Identifier: MIT
** What a model does otherwise where it has caches: latent attention decodes from latents, windows
** from rings.  The numbers are those of whole sequences; what a sequence takes follows what is
** kept.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "scratch.h"

enum { TIME = 90, LAYERS = 2, LATENT = 20, ROPE = 6, HEADS = 18, KEPT = 4 };

static const char latent[] =
    "return model { name = 'm', vocab = 50, context = 90, dim = 24, norm = rmsnorm {},\n"
    "  layers = times(2, layer { mla { heads = 18, nope_dim = 5, rope_dim = 6, value_dim = 9,\n"
    "    latent = 20, rope = {} %s }, mlp { hidden = 30 } }) }\n";

static const char unturned[] =
    "return model { name = 'm', vocab = 50, context = 90, dim = 24, norm = rmsnorm {},\n"
    "  layers = times(2, layer { mla { heads = 3, nope_dim = 5, rope_dim = 0, value_dim = 9,\n"
    "    latent = 20 %s }, mlp { hidden = 30, limit = 0.5 } }) }\n";

static void build(void **state, Built *b, const char *lua, const char *more) {
    char path[SCRATCH_PATH], text[2000];
    CodegenOptions o = { .cpu = "native" };
    snprintf(text, sizeof text, lua, more);
    scratch_path(state, "m.lua", path);
    built_open(b, path, text, &o);
}

/* Logits of one program on the model's graph, as the interpreter sees them. */
static Eval *evaluated(const Graph *g, const Case *c, double decoding) {
    EvalInput in = case_input(c);
    in.decoding = decoding;
    return eval_new(g, &in);
}

/* Both ways of the graph are the same, in float64: to its rounding. */
static void both_ways_are_one(void **state) {
    Built b;
    build(state, &b, latent, ", q_latent = 7, bias = true, sinks = true, gate = { bias = true }");
    Case *c = compiled_case(b.m->graph, 5, 2, TIME, (int)b.m->vocab);
    Eval *whole = evaluated(b.m->graph, c, 0), *steps = evaluated(b.m->graph, c, 1);
    const Node *logits = graph_find(b.m->graph, "logits");
    const double *x = eval_value(whole, logits), *y = eval_value(steps, logits);
    double largest = 0, apart = 0;
    for (int64_t i = 0; i < 2 * TIME * b.m->vocab; i++) {
        largest = fmax(largest, fabs(x[i]));
        apart = fmax(apart, fabs(x[i] - y[i]));
    }
    if (!(apart < 1e-12 * largest)) fail_msg("off by %g of the largest", apart / largest);
    assert_true(apart > 0); /* they are two */
    eval_free(whole), eval_free(steps);
    case_free(c);
    built_close(&b);
}

/* Sequences of a batch that have prompts of different lengths, against the training form. */
static void decoding_agrees(void **state, const char *lua, const char *more) {
    static const int prompt[] = { 1, 37, 80 };
    for (int workers = 1; workers < 4; workers++) {
        Built b;
        Instance r;
        build(state, &b, lua, more);
        instance_open(&r, &b.c, 3 * TIME, workers);
        instance_fill(&r, 3);
        int32_t *ids = some_ids(&b.c, 4, 3 * TIME);
        float *whole = logits_of(&r, ids, 3, TIME),
              *steps = decoded_logits(&r, ids, 3, TIME, prompt);
        int64_t V = b.m->vocab;
        for (int i = 0; i < 3; i++) {
            int64_t first = (i * TIME + prompt[i] - 1) * V, count = (TIME - prompt[i] + 1) * V;
            double apart = difference(steps + first, whole + first, count);
            if (!(apart < 3e-5)) fail_msg("sequence %d: off by %g of the largest", i, apart);
        }
        free(whole), free(steps), free(ids);
        instance_close(&r);
        built_close(&b);
    }
}

static void latents_agree(void **state) {
    decoding_agrees(state, latent, "");
    decoding_agrees(state, latent, ", q_latent = 7, window = 11");
    decoding_agrees(state, unturned, ", window = 11, sinks = true");
    decoding_agrees(state, latent, ", q_latent = 5, bias = true, sinks = true, gate = {}");
}

static void rings_agree(void **state) {
    static const char lua[] =
        "return model { name = 'm', vocab = 50, context = 90, dim = 24, norm = rmsnorm {},\n"
        "  layers = { layer { attention { heads = 4, kv_heads = 2, head_dim = 10, window = 12,\n"
        "    sinks = true, rope = { dims = 4 } }, mlp { hidden = 30 } }, layer { attention {\n"
        "    heads = 3, head_dim = 8, softcap = 2, scale = 0.4, window = 1, gate = { bias = true "
        "},\n"
        "    growth = { from = 20, power = 0.5 } } } } %s }\n";
    decoding_agrees(state, lua, "");
}

/* A token takes its latent and what turns of it, for all heads; the model has one form. */
static void state_is_the_latents(void **state) {
    Built b;
    build(state, &b, latent, "");
    const strata_model *m = b.c.model;
    assert_int_equal(m->state_per_token, 4 * LAYERS * (LATENT + ROPE));
    assert_int_equal(m->forms, 1);
    built_close(&b);
}

/* A window's does not depend on the context. */
static void state_is_the_window(void **state) {
    static const char lua[] =
        "return model { name = 'm', vocab = 50, context = %s, dim = 24, norm = rmsnorm {},\n"
        "  layers = { layer { attention { heads = 3, window = 12 } } } }\n";
    static const char *const context[] = { "100", "10000" };
    for (int i = 0; i < 2; i++) {
        Built b;
        build(state, &b, lua, context[i]);
        assert_int_equal(b.c.model->state_per_token, 0);
        /* 12 - 1 rows and those of a call of a few tokens, in fours */
        assert_int_equal(b.c.api.state_bytes(b.m->context), 64 + 4 * 2 * 24 * (11 + KEPT + 1));
        built_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_are_one),   cmocka_unit_test(latents_agree),
        cmocka_unit_test(rings_agree),         cmocka_unit_test(state_is_the_latents),
        cmocka_unit_test(state_is_the_window),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
