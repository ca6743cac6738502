/* SPDX-License-Identifier: MIT
** extend: a call of several tokens leaves the logits and the state that as many calls of decode
** leave, bit for bit, whatever operations a model has.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_spec.h"
#include "scratch.h"

enum { CONTEXT = 26, VOCAB = 13, SPEC = 2000, ALL = 1000000 };

typedef struct Kind {
    const char *layer, *residual;
    bool bf16;
    int32_t routed; /* of strata_setup */
    Small small;
} Kind;

#define MLP ", mlp { hidden = 40 }"
#define PLAIN "attention { heads = 4, kv_heads = 2, rope = { theta = 100 } }" MLP
#define AVERAGES "drr { heads = 4, causal = true, chunk = 4, window = 1, block_layers = 1 }"

static const Kind kinds[] = {
    { PLAIN, "haares { blocks = 2 }", false, 0, 0 },
    { PLAIN, "attnres { blocks = 2 }", true, 0, 0 },
    { PLAIN, "standard {}", false, 0, SMALL_Q8 },
    { PLAIN, "hyper { streams = 2 }", false, 0, SMALL_Q4 },
    { PLAIN, AVERAGES, false, 0, 0 },
    { "attention { heads = 4, window = 3, sinks = true, softcap = 2 }" MLP, "standard {}", false, 0,
      0 },
    { "relative_attention { heads = 4, kv_heads = 2, head_dim = 12, extent = 5, conv = 3 }" MLP,
      "standard {}", true, 0, 0 },
    { "mla { heads = 4, nope_dim = 6, rope_dim = 4, value_dim = 5, latent = 12 }" MLP,
      "standard {}", false, 0, 0 },
    { "kda { heads = 2, head_dim = 6, gate_rank = 5 }, moe { experts = 5, top = 2, hidden = 9 }",
      "attnres { blocks = 2 }", false, 0, 0 },
    { "gated_delta { heads = 2, head_dim = 6, conv = 3 }" MLP, "standard {}", true, 0, 0 },
    { PLAIN ", route = dtr {}", "standard {}", false, 1 + ALL / 2, 0 },
    { PLAIN ", route = mod { capacity = 0.5 }", "standard {}", false, 0, 0 },
    { PLAIN ", route = dllm { hidden = 6 }", "standard {}", false, 0, 0 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct Bench {
    Built b;
    Instance r;
    int32_t *ids;
} Bench;

static void open_bench(void **state, Bench *x, const Kind *k, int workers) {
    char text[SPEC], path[SCRATCH_PATH];
    snprintf(text, sizeof text,
             "return model { name = 'm', vocab = %d, context = %d, dim = 48, norm = rmsnorm {}, "
             "residual = %s,\n"
             "  layers = { layer { %s }, layer { %s } } }\n",
             VOCAB, CONTEXT, k->residual, k->layer, k->layer);
    built_open(
        &x->b, scratch_path(state, "extend.lua", path), text,
        &(CodegenOptions){ .cpu = "native",
                           .level = 1,
                           .passes = { .inference = true, .bf16 = k->bf16, .small = k->small } });
    instance_open(&x->r, &x->b.c, CONTEXT, workers);
    instance_fill(&x->r, 5);
    instance_set_up(&x->r, (strata_setup){ .routed = k->routed });
    x->ids = some_ids(&x->b.c, 9, CONTEXT);
}

static void close_bench(Bench *x) {
    free(x->ids);
    instance_close(&x->r);
    built_close(&x->b);
}

static Guarded state_of(const Bench *x) { return instance_state(&x->r, CONTEXT); }

/* Logits behind tokens [first, end), by calls of at most 'once' tokens; 0: by decode. */
static void grow(const Bench *x, void *state, int first, int end, int once, float *logits) {
    const strata_api *a = &x->b.c.api;
    for (int t = first, n; t < end; t += n, logits += n * VOCAB) {
        n = !once ? 1 : end - t < once ? end - t : once;
        int status = once
            ? a->extend(x->r.ctx.at, x->r.weights.at, state, x->r.arena.at, x->ids + t, n, logits)
            : a->decode(x->r.ctx.at, x->r.weights.at, &state, 1, x->r.arena.at, x->ids + t, logits);
        if (status) fail_msg("%d tokens from %d: %s", n, t, a->message(x->r.ctx.at));
    }
}

static void bits_are_those_of_decoding(void **state) {
    for (int i = 0; i < KINDS; i++) {
        Bench x;
        static float want[CONTEXT * VOCAB], found[CONTEXT * VOCAB];
        open_bench(state, &x, &kinds[i], 1 + i % 2);
        for (int prompt = 0; prompt < 8; prompt += 7)
            for (int once = 0; once <= STRATA_BACK; once++) {
                Guarded s = state_of(&x);
                float *logits = once ? found : want;
                if (prompt)
                    assert_int_equal(x.b.c.api.prefill(x.r.ctx.at, x.r.weights.at, s.at,
                                                       x.r.arena.at, x.ids, prompt, NULL),
                                     STRATA_OK);
                grow(&x, s.at, prompt, CONTEXT, once, logits);
                if (once && memcmp(want, found, (size_t)(CONTEXT - prompt) * VOCAB * sizeof *want))
                    fail_msg("%s, %s: %d at once have other bits", kinds[i].layer,
                             kinds[i].residual, once);
                guarded_close(&s);
            }
        close_bench(&x);
    }
}

static void mistakes_are_refused(void **state) {
    Bench x;
    float out[STRATA_BACK * VOCAB];
    open_bench(state, &x, &kinds[0], 1);
    Guarded s = state_of(&x);
    const strata_api *a = &x.b.c.api;
    void *c = x.r.ctx.at, *w = x.r.weights.at, *arena = x.r.arena.at;
    assert_int_equal(a->extend(c, w, s.at, arena, x.ids, STRATA_BACK + 1, out),
                     STRATA_ERROR_ARGUMENT);
    assert_non_null(strstr(a->message(c), "is 5, expected 1 to 4"));
    assert_int_equal(a->extend(c, w, s.at, arena, x.ids, 0, out), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->extend(c, w, s.at, arena, x.ids, 1, NULL), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->extend(c, w, arena, arena, x.ids, 1, out), STRATA_ERROR_STATE);
    grow(&x, s.at, 0, CONTEXT - 3, STRATA_BACK, (float[CONTEXT * VOCAB]){ 0 });
    assert_int_equal(a->extend(c, w, s.at, arena, x.ids, 4, out), STRATA_ERROR_FULL);
    assert_int_equal(a->state_length(s.at), CONTEXT - 3);
    guarded_close(&s);
    close_bench(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bits_are_those_of_decoding, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(mistakes_are_refused, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
