/* SPDX-License-Identifier: MIT
** See check_model.h. */
#include "check_model.h"

#include <stdio.h>

#include "scratch.h"

void check_open(void **state, Built *b, const char *residual, int layers, CodegenOptions o) {
    char path[SCRATCH_PATH], text[1000];
    snprintf(
        text, sizeof text,
        "return model { name = 'm', vocab = %d, context = %d, dim = 24, norm = rmsnorm { eps = "
        "1e-6 },\n"
        "residual = %s, layers = times(%d, layer { attention { heads = 4, kv_heads = 2, rope = "
        "{ theta = 10000 } }, mlp { hidden = 24, activation = 'swiglu' } }) }",
        V, CONTEXT, residual, layers);
    o.cpu = "native";
    built_open(b, scratch_path(state, "model.lua", path), text, &o);
}
