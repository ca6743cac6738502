/* SPDX-License-Identifier: MIT
** Operations over time whose past is of a fixed size: sequences that grow by a prompt and token by
** token, some after others, give what the pass over whole sequences gives; a prompt in pieces
** gives the bits of the prompt; values and gradients are the interpreter's, the same bits for any
** number of threads; states are as large as the descriptor says.  Of calls that find no room
** state_share_test.c is.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "scratch.h"

enum { SEQUENCES = 3, LENGTH = 30, CONTEXT = 200, VOCAB = 13, SPEC = 2000 };

/* What a sublayer computes of x [tokens, 18], y a product of it, and a function p of parameters;
** the layer's route; and the floats that a state carries for each of the two sublayers. */
typedef struct Kind {
    const char *result, *route;
    int64_t carried;
} Kind;

static const Kind kinds[] = {
    { "shift(x, 1) + shift(y, 3)", "", 32 + 64 },
    { "shift(x * shift(y, 2), 40)", "", 48 + 720 },
    { "shift(y, 1) * reshape(attention(reshape(shift(y, 2), { 2, 9 }), reshape(x, { 2, 9 }),"
      " reshape(shift(x, 5), { 2, 9 })), { 18 })",
      "", 32 + 48 + 96 },
    { "conv(y, p('w', { 18, 4 }))", "", 64 },
    { "conv(x, tanh(p('w', { 18, 3 }))) + conv(y, p('v', { 6, 9 }))", "", 48 + 144 },
    { "conv(y, p('w', { 18, 1 })) + reshape(conv(reshape(y, { 2, 9 }), p('v', { 1, 2 })), { 18 })",
      "", 0 + 32 },
    { "conv(y, reshape(m:linear(site, 'w', x, 72), { 18, 4 }))", "", 64 },
    { "conv(y, reshape(m:linear(site, 'w', x, 10), { 2, 5 }))", "", 80 },
    { "conv(shift(y, 1), p('w', { 18, 4 })) * conv(y, reshape(x, { 18, 1 }))", "", 32 + 64 },
    { "conv(y, p('w', { 18, 4 }))", "route = mod { capacity = 0.5 },", 64 },
    { "conv(y, reshape(m:linear(site, 'w', x, 36), { 18, 2 }))", "route = mod { capacity = 0.7 },",
      32 },
    { "shift(y, 2)", "route = mod { capacity = 0.5 },", 48 },
    { "reshape(recurrence(reshape(x, { 3, 6 }), reshape(0.3 * tanh(y), { 3, 6 }), reshape(y, { 3, "
      "6 "
      "}), { decay = -reshape(y * y, { 3, 6 }), delta = sigmoid(slice(x, 1, 1, 3)) }), { 18 })",
      "", 112 },
    { "shift(reshape(recurrence(reshape(slice(x, 1, 1, 4), { 2, 2 }), reshape(slice(y, 1, 1, 4), { "
      "2, 2 }), reshape(y, { 2, 9 }), { decay = -0.2 }), { 18 }), 1)",
      "route = mod { capacity = 0.5 },", 48 + 32 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void open_kind(void **state, Built *b, const Kind *k, CodegenOptions o) {
    char text[SPEC], path[SCRATCH_PATH];
    snprintf(
        text, sizeof text,
        "local own = sublayer { forward = function(m, site, x)\n"
        "  local y = m:linear(site, 'y', x, m.dim)\n"
        "  local function p(name, shape) return m:param(site, name, shape, normal(1)) end\n"
        "  return tanh(m:linear(site, 'o', %s, m.dim))\n"
        "end }\n"
        "local function one(n) return layer { own { name = 'a' }, mlp { hidden = 24 }, %s } end\n"
        "return model { name = 'm', vocab = %d, context = %d, dim = 18, norm = rmsnorm {},\n"
        "  residual = %s, layers = { one(), one() } }\n",
        k->result, k->route, VOCAB, CONTEXT,
        k->route[0] ? "standard {}" : "attnres { blocks = 2 }");
    o.cpu = "native";
    built_open(b, scratch_path(state, "history.lua", path), text, &o);
}

static void opened(void **state, Built *b, Instance *r, int kind, CodegenOptions o, int threads) {
    open_kind(state, b, &kinds[kind], o);
    instance_open(r, &b->c, SEQUENCES * LENGTH, threads);
    instance_fill(r, 7 + (uint64_t)kind);
    instance_set_up(r, (strata_setup){ .flags = STRATA_AS_GENERATED });
}

static void closed(Built *b, Instance *r) {
    instance_close(r);
    built_close(b);
}

/* == Sequences that grow ================================================== */

static void decoding_is_the_full_pass(void **state) {
    static const int prompt[SEQUENCES] = { 1, 3, 11 };
    for (int i = 0; i < KINDS; i++)
        for (int check = 0; check < 2; check++) {
            Built b;
            Instance r;
            opened(state, &b, &r, i,
                   (CodegenOptions){ .passes.check = check, .passes.inference = !check },
                   1 + i % 2);
            int32_t *ids = some_ids(&b.c, 3, SEQUENCES * LENGTH);
            float *whole = logits_of(&r, ids, SEQUENCES, LENGTH),
                  *steps = decoded_logits(&r, ids, SEQUENCES, LENGTH, prompt);
            for (int s = 0; s < SEQUENCES; s++) {
                int64_t first = s * LENGTH + prompt[s] - 1;
                double apart = difference(steps + first * VOCAB, whole + first * VOCAB,
                                          (LENGTH - prompt[s] + 1) * VOCAB);
                if (!(apart <= 3e-5)) fail_msg("%s, %d: differs by %g", kinds[i].result, s, apart);
            }
            free(whole), free(steps), free(ids);
            closed(&b, &r);
        }
}

static Guarded empty_state(const Instance *r) {
    Guarded g;
    guarded_open(&g, r->c->api.state_bytes(CONTEXT));
    memset(g.at, 0x7f, g.size); /* what state_init leaves alone is not read */
    assert_int_equal(r->c->api.state_init(r->ctx.at, g.at, CONTEXT), STRATA_OK);
    return g;
}

/* Pieces shorter and longer than what is carried; a copy goes on as what it is a copy of. */
static void a_prompt_in_pieces_is_the_prompt(void **state) {
    static const int pieces[] = { 2, 1, 9, 3, LENGTH - 15 };
    for (int i = 0; i < KINDS; i++) {
        Built b;
        Instance r;
        float whole[VOCAB], last[VOCAB], copied[VOCAB];
        opened(state, &b, &r, i, (CodegenOptions){ .passes.inference = true }, 2);
        const strata_api *a = &b.c.api;
        int32_t *ids = some_ids(&b.c, 5, LENGTH);
        Guarded once = empty_state(&r), parts = empty_state(&r), copy = empty_state(&r);
        assert_int_equal(
            a->prefill(r.ctx.at, r.weights.at, once.at, r.arena.at, ids, LENGTH, whole), STRATA_OK);
        for (int p = 0, at = 0; p < 5; at += pieces[p++]) {
            if (p == 4) assert_int_equal(a->state_copy(r.ctx.at, copy.at, parts.at), STRATA_OK);
            assert_int_equal(
                a->prefill(r.ctx.at, r.weights.at, parts.at, r.arena.at, ids + at, pieces[p], last),
                STRATA_OK);
            if (p == 4)
                assert_int_equal(a->prefill(r.ctx.at, r.weights.at, copy.at, r.arena.at, ids + at,
                                            pieces[p], copied),
                                 STRATA_OK);
        }
        if (!(difference(last, whole, VOCAB) <= 3e-5)) fail_msg("%s: differs", kinds[i].result);
        assert_memory_equal(last, copied, sizeof last);
        guarded_close(&once), guarded_close(&parts), guarded_close(&copy);
        free(ids);
        closed(&b, &r);
    }
}

static void states_are_as_large_as_they_say(void **state) {
    for (int i = 0; i < KINDS; i++) {
        Built b;
        Instance r;
        opened(state, &b, &r, i, (CodegenOptions){ .passes.inference = true }, 1);
        const strata_model *m = b.c.model;
        assert_int_equal(m->state_carried, 2 * 4 * kinds[i].carried);
        for (int64_t context = 1; context <= CONTEXT; context += 199)
            assert_int_equal(b.c.api.state_bytes(context),
                             m->state_constant + context * m->state_per_token);
        assert_true(m->state_constant >= m->state_carried * (m->routed ? 2 : 1));
        closed(&b, &r);
    }
}

/* == Against the interpreter ============================================== */

static void values_and_gradients_agree(void **state) {
    static const Extent extent[] = { { 3, LENGTH }, { 2, 1 },       { 5, 2 },
                                     { 9, LENGTH }, { 1, CONTEXT }, { 0 } };
    int shaky = 0;
    for (int i = 0; i < KINDS; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            char why[700];
            Built b;
            open_kind(state, &b, &kinds[i], (CodegenOptions){ 0 });
            Graph *g = b.m->graph;
            b.m->graph = NULL;
            CodegenOptions o = { .cpu = "native",
                                 .passes.keep = (Keep)(seed % 3),
                                 .passes.check = seed == 2 };
            Answer answer = graph_answer(g, seed, &o, extent, why, sizeof why);
            shaky += answer == SHAKY;
            if (answer == DIFFERS) fail_msg("%s, seed %d: %s", kinds[i].result, (int)seed, why);
            built_close(&b);
        }
    assert_true(shaky <= 2);
}

static float *gradients(Instance *r, const int32_t *ids, const int32_t *targets) {
    strata_loss loss = { 0 };
    return gradients_of(r, ids, targets, SEQUENCES, LENGTH, &loss);
}

static void threads_change_no_bit(void **state) {
    for (int i = 0; i < KINDS; i++) {
        Built b;
        Instance one, three;
        open_kind(state, &b, &kinds[i], (CodegenOptions){ 0 });
        instance_open(&one, &b.c, SEQUENCES * LENGTH, 1);
        instance_open(&three, &b.c, SEQUENCES * LENGTH, 3);
        instance_fill(&one, 3), instance_fill(&three, 3);
        int32_t *ids = some_ids(&b.c, 3, SEQUENCES * LENGTH),
                *targets = some_ids(&b.c, 4, SEQUENCES * LENGTH);
        float *x = gradients(&one, ids, targets), *y = gradients(&three, ids, targets);
        assert_memory_equal(x, y, (size_t)gradient_floats(&b.c) * sizeof *x);
        free(x), free(y), free(ids), free(targets);
        instance_close(&one);
        closed(&b, &three);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_is_the_full_pass),
        cmocka_unit_test(a_prompt_in_pieces_is_the_prompt),
        cmocka_unit_test(states_are_as_large_as_they_say),
        cmocka_unit_test(values_and_gradients_agree),
        cmocka_unit_test(threads_change_no_bit),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
