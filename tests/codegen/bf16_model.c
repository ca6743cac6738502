/* SPDX-License-Identifier: MIT
** See bf16_model.h. */
#include "bf16_model.h"

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scratch.h"

/* No length is a multiple of a vector's, and bfloat16s of a row may be odd in number; but for the
** last one, whose heads are whole cache lines of bfloat16s: q, k and v are stored as such. */
const Bf16Kind bf16_kinds[MODELS] = {
    { "standard", "standard {}", "norm = rmsnorm { eps = 1e-6 }",
      "heads = 4, rope = { theta = 10000 }", "hidden = 37, activation = 'swiglu'", 0 },
    { "attnres", "attnres { full = true, heads = 2 }", "norm = rmsnorm { eps = 1e-6 }",
      "heads = 4, rope = { theta = 10000 }", "hidden = 37, activation = 'swiglu'", 0 },
    { "haares", "haares { blocks = 2 }", "norm = rmsnorm { eps = 1e-6 }",
      "heads = 4, kv_heads = 2, rope = { theta = 10000 }", "hidden = 37, activation = 'gelu'", 0 },
    { "hyper", "hyper { streams = 3 }", "norm = rmsnorm { eps = 1e-6 }",
      "heads = 4, rope = { theta = 10000 }", "hidden = 37, activation = 'swiglu'", 0 },
    { "details", "standard {}",
      "norm = layernorm { eps = 1e-5 }, embedding = { tied = false, positions = 'learned' }",
      "heads = 4, kv_heads = 1, qk_norm = true, bias = true",
      "hidden = 37, activation = 'relu', bias = true", 0 },
    { "lines", "attnres { blocks = 2 }", "norm = rmsnorm { eps = 1e-6 }",
      "heads = 2, kv_heads = 1, rope = { theta = 10000 }", "hidden = 37, activation = 'swiglu'",
      64 },
};

void bf16_open(void **state, Built *b, const Bf16Kind *k, int layers, int dim, CodegenOptions o) {
    char path[SCRATCH_PATH], text[1000];
    snprintf(text, sizeof text,
             "return model { name = 'm', vocab = %d, context = %d, dim = %d, %s, residual = %s,\n"
             "layers = times(%d, layer { attention { %s }, mlp { %s } }) }",
             VOCAB, CONTEXT, k->dim ? k->dim : dim, k->rest, k->residual, layers, k->attention,
             k->mlp);
    o.cpu = "native";
    built_open(b, scratch_path(state, "bf16.lua", path), text, &o);
}

void same_floats(const char *what, const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) || !isfinite(a[i]))
            fail_msg("%s %lld: %a and %a", what, (long long)i, a[i], b[i]);
}
