/* SPDX-License-Identifier: MIT
** Models built with --cache bf16 and q8: what the interpreter computes where keys and values are
** rounded, in the full pass, the loss and token by token; what a sequence takes; the same bits for
** any number of workers, in any batch and with --check; states that are copied and go back, and
** those of other builds.
**
** A key that lies halfway between two codes may be rounded the other way than in float64: most
** cases must agree as those of float32 builds do, and all of them nearly.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "op.h"
#include "scratch.h"

enum { VOCAB = 41, CONTEXT = 150, LAYERS = 2, CASES = 4, SPEC = 1500 };

/* Widths are no whole groups, but the first one's. */
static const struct {
    const char *name, *rest, *layer;
} kinds[] = {
    { "heads", "residual = standard {}",
      "attention { heads = 4, kv_heads = 2, head_dim = 64, rope = {}, sinks = true, softcap = 3, "
      "value_residual = true }" },
    { "windows", "residual = haares { blocks = 2 }",
      "attention { heads = 3, head_dim = 40, window = 12, rope = { dims = 4 } }" },
    { "latents", "residual = standard {}",
      "mla { heads = 5, nope_dim = 5, rope_dim = 6, value_dim = 9, latent = 50, rope = {} }" },
    { "distances", "residual = standard {}",
      "relative_attention { heads = 4, kv_heads = 2, head_dim = 35, extent = 11, clip = 2,"
      " relative_dim = 3, relative_clip = 1, floor = 20, growth = 0.5 }" },
    { "shared", "residual = standard {}",
      "shared_attention { heads = 4, head_dim = 34, q_latent = 7, out_groups = 2, out_rank = 5, "
      "window = 9, rope = {}, compress = { rate = 3, overlap = true } }" },
    { "routed", "residual = attnres { blocks = 2 }",
      "route = dtr {}, attention { heads = 2, head_dim = 34, rope = {} }" },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* What each of KINDS is built with, one after another. */
static const struct {
    int kept;
    bool bf16;
} ways[] = { { KEPT_BF16, false }, { KEPT_Q8, false }, { KEPT_BF16, true }, { KEPT_Q8, true } };
enum { WAYS = sizeof ways / sizeof *ways, AS_PRODUCTS = 2 }; /* rounded by products anyway */

static void open_kind(void **state, Built *b, int kind, CodegenOptions o) {
    char path[SCRATCH_PATH], text[SPEC];
    snprintf(text, sizeof text,
             "return model { name = 'm', vocab = %d, context = %d, dim = 24, norm = rmsnorm {},\n"
             "  %s, layers = times(%d, layer { %s, mlp { hidden = 30 } }) }",
             VOCAB, CONTEXT, kinds[kind].rest, LAYERS, kinds[kind].layer);
    o.cpu = "native";
    built_open(b, scratch_path(state, "kept.lua", path), text, &o);
}

static CodegenOptions way_of(int way) {
    return (CodegenOptions){ .passes.cache = ways[way].kept,
                             .passes.bf16 = ways[way].bf16,
                             .passes.inference = true };
}

/* == What a sequence takes ================================================ */

static void states_take_what_is_kept(void **state) {
    static const int64_t heads[] = { 4 * (64 + 64), 2 * (64 + 64), 64 + 4 + 64 + 4 },
                         latents[] = { 4 * 56, 2 * 56, 56 + 4 };
    for (int kept = KEPT_F32; kept <= KEPT_Q8; kept++) {
        Built b;
        CodegenOptions o = { .passes.cache = kept, .passes.inference = true };
        open_kind(state, &b, 0, o);
        assert_int_equal(b.c.model->cache, kept);
        assert_int_equal(b.c.model->state_per_token, LAYERS * 2 * heads[kept]);
        assert_int_equal(b.c.api.state_bytes(100) - b.c.api.state_bytes(99),
                         b.c.model->state_per_token);
        built_close(&b);
        open_kind(state, &b, 2, o);
        assert_int_equal(b.c.model->state_per_token, LAYERS * latents[kept]);
        built_close(&b);
    }
}

/* A row of averages is a sum until its chunk is full. */
static void averages_stay_float32(void **state) {
    static const char lua[] =
        "return model { name = 'm', vocab = 41, context = 30, dim = 24, norm = rmsnorm {},\n"
        "  layers = { layer { sublayer { name = 'means', forward = function(m, site, x)\n"
        "    local function h(n) return reshape(m:linear(site, n, x, 24), { 2, 12 }) end\n"
        "    return reshape(attention(h('q'), h('k'), h('v'), { causal = true, chunk = 3 }), { 24 "
        "})\n  end } {} } } }\n";
    Built b, plain;
    char path[SCRATCH_PATH];
    CodegenOptions o = { .cpu = "native", .passes.inference = true };
    built_open(&plain, scratch_path(state, "means.lua", path), lua, &o);
    o.passes.cache = KEPT_Q8;
    built_open(&b, scratch_path(state, "means.lua", path), lua, &o);
    assert_int_equal(b.c.api.state_bytes(30), plain.c.api.state_bytes(30));
    built_close(&b), built_close(&plain);
}

/* == Against the interpreter ============================================== */

typedef struct Score {
    int cases, exact, near;
} Score;

/* What a code that is rounded the other way moves. */
static const Allowed one_flip = { 3e-2, 1 };

static void judge(Score *s, const Built *b, const Case *c, int way) {
    char why[700] = "";
    Instance r;
    Expected e;
    expected_open_kept(&e, c, ways[way].kept, ways[way].bf16);
    instance_open(&r, &b->c, c->batch * c->time, 1);
    instance_weights(&r, c);
    bool exact = compiled_agrees(&r, c, &e, why, sizeof why);
    e.allowed = one_flip;
    bool near = exact || compiled_agrees(&r, c, &e, why, sizeof why);
    s->cases++, s->exact += exact, s->near += near;
    instance_close(&r);
    expected_close(&e);
}

/* Builds of bfloat16 that do not train keep tables so, which the interpreter does not know. */
static void round_parameters(Case *c) {
    for (int i = 0; i < c->g->nparam; i++)
        for (int64_t k = 0; k < shape_count(&c->g->param[i].node->shape); k++)
            c->value[i][k] = round_bf16(c->value[i][k]);
}

static void models_agree_with_the_interpreter(void **state) {
    static const Extent extents[] = { { 1, 3 }, { 2, 2 }, { 1, 20 }, { 1, 13 } };
    for (int i = 0; i < WAYS * KINDS; i++) {
        Built b, plain;
        int kind = i / WAYS, way = i % WAYS;
        Score score = { 0 }, unrounded = { 0 };
        CodegenOptions o = way_of(way);
        o.level = i % 3;
        open_kind(state, &b, kind, o);
        o.passes.cache = KEPT_F32;
        open_kind(state, &plain, kind, o);
        for (int k = 0; k < CASES; k++) {
            Extent x = extents[k % 4];
            Case *c = compiled_case(b.m->graph, 40 + (uint64_t)k, x.batch, x.time, VOCAB);
            if (ways[way].bf16) round_parameters(c);
            judge(&score, &b, c, way);
            judge(&unrounded, &plain, c, way);
            case_free(c);
        }
        print_message("%s %s%s: %d of %d cases agree, %d nearly; not rounded: %d\n",
                      kinds[kind].name, ways[way].kept == KEPT_Q8 ? "q8" : "bf16",
                      ways[way].bf16 ? " and bf16" : "", score.exact, score.cases, score.near,
                      unrounded.exact);
        if (2 * score.exact < CASES || score.near < CASES - 1
            || (way != AS_PRODUCTS && unrounded.exact > CASES / 4))
            fail_msg("%s: expected half of the cases to agree, all nearly, and few that are not "
                     "rounded",
                     kinds[kind].name);
        built_close(&b), built_close(&plain);
    }
}

/* == The same bits ======================================================== */

static void same_floats(const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) || !isfinite(a[i]))
            fail_msg("logit %lld: %a and %a", (long long)i, a[i], b[i]);
}

enum { LENGTH = 40, SEQUENCES = 3 };
static const int prompts[SEQUENCES] = { 1, 7, 30 };

/* Logits of the full pass, or from the prompts on those of decoding. */
static float *logits_with(const Built *b, int workers, bool decoding) {
    Instance r;
    instance_open(&r, &b->c, SEQUENCES * LENGTH, workers);
    instance_fill(&r, 5);
    int32_t *tokens = some_ids(&b->c, 1, SEQUENCES * LENGTH);
    float *logits = decoding ? decoded_logits(&r, tokens, SEQUENCES, LENGTH, prompts)
                             : logits_of(&r, tokens, SEQUENCES, LENGTH);
    for (int i = 0; decoding && i < SEQUENCES; i++) {
        int64_t from = (prompts[i] - 1) * VOCAB, at = i * LENGTH * VOCAB;
        float *alone = decoded_logits(&r, tokens + i * LENGTH, 1, LENGTH, prompts + i);
        same_floats(alone + from, logits + at + from, LENGTH * VOCAB - from);
        memset(logits + at, 0, (size_t)from * sizeof *logits);
        free(alone);
    }
    free(tokens);
    instance_close(&r);
    return logits;
}

/* Attention adds in another order than in the full pass, after which a code may be rounded the
** other way. */
static void expect_close(const Built *b, int i, const float *decoded) {
    float *all = logits_with(b, 2, false);
    int exact = 0, positions = 0;
    for (int s = 0; s < SEQUENCES; s++)
        for (int t = prompts[s] - 1; t < LENGTH; t++, positions++) {
            int64_t at = (s * LENGTH + t) * VOCAB;
            double apart = difference(decoded + at, all + at, VOCAB);
            if (!(apart <= one_flip.value))
                fail_msg("%s: logits of position %d are %.1e from those of the full pass",
                         kinds[i / WAYS].name, t, apart);
            exact += apart <= 3e-5;
        }
    if (!ways[i % WAYS].bf16 && 2 * exact < positions)
        fail_msg("%s: only %d positions of %d are those of the full pass", kinds[i / WAYS].name,
                 exact, positions);
    free(all);
}

static void decoding_has_one_set_of_bits(void **state) {
    int64_t count = SEQUENCES * LENGTH * VOCAB;
    for (int i = 0; i < WAYS * KINDS; i++) {
        Built b;
        CodegenOptions o = way_of(i % WAYS);
        open_kind(state, &b, i / WAYS, o);
        float *one = logits_with(&b, 1, true), *three = logits_with(&b, 3, true);
        assert_memory_equal(one, three, (size_t)count * sizeof *one);
        expect_close(&b, i, one);
        built_close(&b);
        o.passes.check = true;
        if (i % 2 == 0) {
            open_kind(state, &b, i / WAYS, o);
            float *checked = logits_with(&b, 2, true);
            assert_memory_equal(one, checked, (size_t)count * sizeof *one);
            free(checked);
            built_close(&b);
        }
        free(one), free(three);
    }
}

/* == States =============================================================== */

typedef struct Sequence {
    Instance r;
    int32_t *ids;
} Sequence;

static void *new_state(const Sequence *x, Guarded *g, int64_t context) {
    const strata_api *a = &x->r.c->api;
    guarded_open(g, a->state_bytes(context));
    assert_int_equal(a->state_init(x->r.ctx.at, g->at, context), STRATA_OK);
    return g->at;
}

/* The last logits of tokens [first, end), 'count' at once. */
static void extend(Sequence *x, void *state, int first, int end, int count, float *logits) {
    const strata_api *a = &x->r.c->api;
    for (int t = first; t < end; t += count)
        assert_int_equal(a->prefill(x->r.ctx.at, x->r.weights.at, state, x->r.arena.at, x->ids + t,
                                    t + count < end ? count : end - t, logits),
                         STRATA_OK);
}

/* To a state for a longer context, and back and on again. */
static void states_are_copied_and_go_back(void **state) {
    for (int way = 0; way < WAYS; way++) {
        Built b;
        Sequence x;
        Guarded from, to;
        float first[VOCAB], again[VOCAB];
        open_kind(state, &b, 0, way_of(way));
        const strata_api *a = &b.c.api;
        instance_open(&x.r, &b.c, LENGTH, 2);
        instance_fill(&x.r, 5);
        x.ids = some_ids(&b.c, 1, LENGTH);
        new_state(&x, &from, LENGTH), new_state(&x, &to, CONTEXT);
        extend(&x, from.at, 0, 25, 25, first);
        assert_int_equal(a->state_copy(x.r.ctx.at, to.at, from.at), STRATA_OK);
        extend(&x, from.at, 25, LENGTH, 1, first);
        extend(&x, to.at, 25, LENGTH, 1, again);
        assert_memory_equal(first, again, sizeof first);
        assert_int_equal(a->state_truncate(x.r.ctx.at, to.at, 20), STRATA_OK);
        extend(&x, to.at, 20, 25, 5, again);
        extend(&x, to.at, 25, LENGTH, 1, again);
        assert_memory_equal(first, again, sizeof first);
        guarded_close(&from), guarded_close(&to);
        free(x.ids);
        instance_close(&x.r);
        built_close(&b);
    }
}

/* One spec, one precision, another cache. */
static void states_of_other_builds_are_refused(void **state) {
    for (int kept = KEPT_F32; kept <= KEPT_Q8; kept++) {
        Built b, other;
        Sequence x, y;
        Guarded own, foreign;
        float logits[VOCAB];
        CodegenOptions o = { .passes.cache = kept, .passes.inference = true };
        open_kind(state, &b, 0, o);
        o.passes.cache = (kept + 1) % 3;
        open_kind(state, &other, 0, o);
        instance_open(&x.r, &b.c, LENGTH, 1), instance_open(&y.r, &other.c, LENGTH, 1);
        instance_fill(&x.r, 5);
        x.ids = some_ids(&b.c, 1, LENGTH);
        new_state(&x, &own, CONTEXT), new_state(&y, &foreign, CONTEXT);
        assert_int_equal(b.c.api.state_length(own.at), 0);
        assert_int_equal(b.c.api.state_length(foreign.at), -1);
        assert_int_equal(
            b.c.api.prefill(x.r.ctx.at, x.r.weights.at, foreign.at, x.r.arena.at, x.ids, 3, logits),
            STRATA_ERROR_STATE);
        guarded_close(&own), guarded_close(&foreign);
        free(x.ids);
        instance_close(&x.r), instance_close(&y.r);
        built_close(&b), built_close(&other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_take_what_is_kept),
        cmocka_unit_test(averages_stay_float32),
        cmocka_unit_test(models_agree_with_the_interpreter),
        cmocka_unit_test(decoding_has_one_set_of_bits),
        cmocka_unit_test(states_are_copied_and_go_back),
        cmocka_unit_test(states_of_other_builds_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
