/* SPDX-License-Identifier: MIT
** Sublayers whose past is a state of fixed size, the library's and those of specs/hybrids, and
** attention beside short convolutions: sequences that grow by prompts and tokens, some after
** others, give what the pass over whole ones gives; values and gradients are the interpreter's;
** threads change no bit, in bfloat16 builds neither; in layers of some tokens, and below mixers
** that read several sources.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "scratch.h"

enum { SEQUENCES = 3, LENGTH = 80, CONTEXT = 96, VOCAB = 13 };

typedef struct Layer {
    const char *sublayer, *route, *residual;
} Layer;

static const Layer layers[] = {
    { "kda { heads = 2, head_dim = 8, gate_rank = 4 }", "", "standard {}" },
    { "kda { heads = 3, conv = 2, floor = -3 }", "", "attnres { blocks = 2 }" },
    { "kda { heads = 2, conv = 0 }", "route = mod { capacity = 0.5 },", "standard {}" },
    { "gated_delta { heads = 2, value_heads = 4, head_dim = 5, value_dim = 6, gate = 'sigmoid' }",
      "", "haares { blocks = 2 }" },
    { "gated_delta { heads = 1, head_dim = 20, conv = 0, gate = false }", "", "standard {}" },
    { "linear_attention { heads = 2 }", "", "standard {}" },
    { "linear_attention { heads = 4, head_dim = 6, kv_heads = 2, decay = 'fixed', gate = true }",
      "", "standard {}" },
    { "linear_attention { heads = 2, value_dim = 10, decay = 'head', positive = true }", "",
      "attnres { blocks = 2 }" },
    { "linear_attention { heads = 2, decay = 'channel', rank = 3, gate = true }",
      "route = mod { capacity = 0.5 },", "standard {}" },
    { "require 'shared.cell' {}", "", "attnres { blocks = 2 }" },
    { "require 'shared.mingru' { inner = 37 }", "", "attnres { blocks = 2 }" },
    { "require 'shared.mingru' {}", "route = mod { capacity = 0.5 },", "standard {}" },
    { "require 'shared.mamba' { inner = 21, state = 3, rank = 2 }", "", "haares { blocks = 2 }" },
    { "require 'shared.mamba' {}", "", "standard {}" },
    { "relative_attention { heads = 2, kv_heads = 1, head_dim = 9, window = 7, extent = 7 "
      "}",
      "", "hyper { streams = 2, mix = false }" },
    { "relative_attention { heads = 4, kv_heads = 2, head_dim = 5, extent = 11, clip = 2,"
      " relative_dim = 3, relative_clip = 1, floor = 20, growth = 0.5 }",
      "", "attnres { blocks = 2, key_gain = false, value_norm = true, scale = 0.3 }" },
    { "moe { name = 'first', experts = 5, top = 2, hidden = 6, scale = 2, gate_cap = 2, up_cap = "
      "3, "
      "out_conv = 4 }",
      "", "mhc { streams = 2, start = 'softmax', eps = 1e-3, head = 'learned' }" },
    { "sublayer { name = 'exits', forward = function(m, site, x) local y = tanh(m:linear(site, 'w',"
      " x, 18)) return y, 0.3 * m:nll(m:norm(site.prefix .. '.exit', shift(y, 1) + x)) end } {}",
      "", "attnres { blocks = 2 }" },
};
enum { LAYERS = sizeof layers / sizeof *layers };

static void open_layer(void **state, Built *b, const Layer *l, CodegenOptions o) {
    char text[1000], path[SCRATCH_PATH];
    snprintf(text, sizeof text,
             "local function one() return layer { %s, mlp { hidden = 24 }, %s } end\n"
             "return model { name = 'm', vocab = %d, context = %d, dim = 18, norm = rmsnorm {},\n"
             "  residual = %s, layers = { one(), one() } }\n",
             l->sublayer, l->route, VOCAB, CONTEXT, l->residual);
    o.cpu = "native";
    built_open(b, scratch_path(state, "layers.lua", path), text, &o);
}

static void decoding_is_the_full_pass(void **state) {
    static const int prompt[SEQUENCES] = { 1, 3, 70 };
    for (int i = 0; i < LAYERS; i++) {
        Built b;
        Instance r;
        open_layer(state, &b, &layers[i],
                   (CodegenOptions){ .passes.check = i % 2, .passes.inference = i % 3 == 0 });
        instance_open(&r, &b.c, SEQUENCES * LENGTH, 1 + i % 3);
        instance_fill(&r, 7 + (uint64_t)i);
        instance_set_up(&r, (strata_setup){ .flags = STRATA_AS_GENERATED });
        int32_t *ids = some_ids(&b.c, 3, SEQUENCES * LENGTH);
        float *whole = logits_of(&r, ids, SEQUENCES, LENGTH),
              *steps = decoded_logits(&r, ids, SEQUENCES, LENGTH, prompt);
        for (int s = 0; s < SEQUENCES; s++) {
            int64_t first = s * LENGTH + prompt[s] - 1;
            double apart = difference(steps + first * VOCAB, whole + first * VOCAB,
                                      (LENGTH - prompt[s] + 1) * VOCAB);
            if (!(apart <= 5e-5)) fail_msg("%s, %d: differs by %g", layers[i].sublayer, s, apart);
        }
        free(whole), free(steps), free(ids);
        instance_close(&r);
        built_close(&b);
    }
}

static void values_and_gradients_agree(void **state) {
    static const Extent extent[] = { { 3, 20 }, { 1, 96 }, { 2, 1 }, { 0 } };
    int shaky = 0;
    for (int i = 0; i < LAYERS; i++) {
        char why[700];
        Built b;
        open_layer(state, &b, &layers[i], (CodegenOptions){ 0 });
        Graph *g = b.m->graph;
        b.m->graph = NULL;
        CodegenOptions o = { .cpu = "native", .passes.check = i % 2, .passes.keep = (Keep)(i % 3) };
        Answer answer = graph_answer(g, 3, &o, extent, why, sizeof why);
        shaky += answer == SHAKY;
        if (answer == DIFFERS) fail_msg("%s: %s", layers[i].sublayer, why);
        built_close(&b);
    }
    assert_true(shaky <= 1);
}

static float *gradients(const Built *b, int workers) {
    Instance r;
    strata_loss loss;
    instance_open(&r, &b->c, SEQUENCES * LENGTH, workers);
    instance_fill(&r, 3);
    int32_t *ids = some_ids(&b->c, 3, SEQUENCES * LENGTH),
            *targets = some_ids(&b->c, 4, SEQUENCES * LENGTH);
    float *d = gradients_of(&r, ids, targets, SEQUENCES, LENGTH, &loss);
    assert_true(isfinite(loss.loss));
    free(ids), free(targets);
    instance_close(&r);
    return d;
}

static void threads_change_no_bit(void **state) {
    for (int i = 0; i < 2 * LAYERS; i += 3) {
        Built b;
        open_layer(state, &b, &layers[i / 2], (CodegenOptions){ .passes.bf16 = i % 2 });
        float *one = gradients(&b, 1), *three = gradients(&b, 3);
        assert_memory_equal(one, three, (size_t)gradient_floats(&b.c) * sizeof *one);
        free(one), free(three);
        built_close(&b);
    }
}

/* What specs of the test's folder require. */
static const char *const module[][2] = {
    { "specs/hybrids/shared/cell.lua", "shared/cell.lua" },
    { "specs/hybrids/shared/mingru.lua", "shared/mingru.lua" },
    { "specs/hybrids/shared/mamba.lua", "shared/mamba.lua" },
};
enum { MODULES = sizeof module / sizeof *module };

static int set_up(void **state) {
    char path[SCRATCH_PATH];
    if (scratch_setup(state) || mkdir(scratch_path(state, "shared", path), 0700)) return -1;
    for (int i = 0; i < MODULES; i++) {
        size_t n;
        char *text = scratch_read(module[i][0], &n);
        assert_non_null(text);
        scratch_write(scratch_path(state, module[i][1], path), text, n);
        free(text);
    }
    return 0;
}

static int tear_down(void **state) {
    char path[SCRATCH_PATH];
    for (int i = 0; i < MODULES; i++)
        if (unlink(scratch_path(state, module[i][1], path))) return -1;
    if (rmdir(scratch_path(state, "shared", path))) return -1;
    return scratch_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_is_the_full_pass),
        cmocka_unit_test(values_and_gradients_agree),
        cmocka_unit_test(threads_change_no_bit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
