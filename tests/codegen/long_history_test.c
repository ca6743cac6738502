/* SPDX-License-Identifier: MIT
** Decoding after histories of several pieces, which workers may share: logits of the full pass to
** rounding, the same bits for any number of workers, in any batch and with --check.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_spec.h"
#include "kept_rows.h"
#include "op.h"
#include "scratch.h"

enum { VOCAB = 41, LENGTH = 800, SEQUENCES = 2, SPEC = 1000 };
static const int prompts[SEQUENCES] = { LENGTH - 12, LENGTH - 30 };

static const struct {
    const char *name, *residual, *layer;
    int kept;
} kinds[] = {
    { "heads", "standard {}", "attention { heads = 4, kv_heads = 1, head_dim = 20 }", KEPT_F32 },
    { "groups", "haares { blocks = 2 }",
      "attention { heads = 6, kv_heads = 3, head_dim = 34, sinks = true, softcap = 3 }",
      KEPT_BF16 },
    { "windows", "standard {}",
      "attention { heads = 3, kv_heads = 1, head_dim = 40, window = 600, rope = {} }", KEPT_F32 },
    { "latents", "standard {}",
      "mla { heads = 4, nope_dim = 5, rope_dim = 6, value_dim = 9, latent = 50, rope = {} }",
      KEPT_F32 },
    { "routed", "attnres { blocks = 2 }",
      "route = dtr {}, attention { heads = 2, kv_heads = 1, head_dim = 34 }", KEPT_F32 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void open_kind(void **state, Built *b, int i, bool check) {
    char path[SCRATCH_PATH], text[SPEC];
    snprintf(text, sizeof text,
             "return model { name = 'm', vocab = %d, context = %d, dim = 24, norm = rmsnorm {},\n"
             "  residual = %s, layers = times(2, layer { %s, mlp { hidden = 30 } }) }",
             VOCAB, LENGTH, kinds[i].residual, kinds[i].layer);
    CodegenOptions o = { .cpu = "native",
                         .passes.cache = kinds[i].kept,
                         .passes.inference = true,
                         .passes.check = check };
    built_open(b, scratch_path(state, "long.lua", path), text, &o);
}

/* Logits that decoding gives after the prompts, one sequence after another. */
static float *after_prompts(const Built *b, int workers, bool alone, int64_t *count) {
    Instance r;
    instance_open(&r, &b->c, SEQUENCES * LENGTH, workers);
    instance_fill(&r, 5);
    int32_t *tokens = some_ids(&b->c, 1, SEQUENCES * LENGTH);
    float *out = calloc(SEQUENCES * LENGTH * VOCAB, sizeof *out);
    assert_non_null(out);
    float *all = alone ? NULL : decoded_logits(&r, tokens, SEQUENCES, LENGTH, prompts);
    *count = 0;
    for (int i = 0; i < SEQUENCES; i++) {
        int64_t from = prompts[i] * VOCAB, n = LENGTH * VOCAB - from;
        float *one = alone ? decoded_logits(&r, tokens + i * LENGTH, 1, LENGTH, prompts + i) : NULL;
        const float *logits = alone ? one : all + i * LENGTH * VOCAB;
        memcpy(out + *count, logits + from, (size_t)n * sizeof *out);
        *count += n;
        free(one);
    }
    free(all), free(tokens);
    instance_close(&r);
    return out;
}

static void expect_full_pass(const Built *b, const char *name, const float *decoded) {
    Instance r;
    instance_open(&r, &b->c, SEQUENCES * LENGTH, 2);
    instance_fill(&r, 5);
    int32_t *tokens = some_ids(&b->c, 1, SEQUENCES * LENGTH);
    float *whole = logits_of(&r, tokens, SEQUENCES, LENGTH);
    for (int i = 0; i < SEQUENCES; i++) {
        int64_t from = prompts[i] * VOCAB, n = LENGTH * VOCAB - from;
        double apart = difference(decoded, whole + i * LENGTH * VOCAB + from, n);
        if (!(apart <= 6e-5)) fail_msg("%s: logits are %.1e from the full pass's", name, apart);
        decoded += n;
    }
    free(whole), free(tokens);
    instance_close(&r);
}

static void decoding_has_one_set_of_bits(void **state) {
    for (int i = 0; i < KINDS; i++) {
        Built b, checked;
        int64_t count;
        open_kind(state, &b, i, false), open_kind(state, &checked, i, true);
        float *one = after_prompts(&b, 1, false, &count);
        if (kinds[i].kept == KEPT_F32) expect_full_pass(&b, kinds[i].name, one);
        for (int workers = 1; workers <= 6; workers += (workers + 1) / 2) {
            for (int alone = 0; alone < 2; alone++) {
                float *more = after_prompts(workers == 3 ? &checked : &b, workers, alone, &count);
                for (int64_t k = 0; k < count; k++)
                    if (memcmp(&one[k], &more[k], sizeof *one))
                        fail_msg("%s, %d workers%s: %a, of one worker %a", kinds[i].name, workers,
                                 alone ? ", alone" : "", more[k], one[k]);
                free(more);
            }
        }
        free(one);
        built_close(&b), built_close(&checked);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_has_one_set_of_bits),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
