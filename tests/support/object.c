/* SPDX-License-Identifier: MIT
** See object.h. */
#include "object.h"

#include <stdlib.h>

#include "scratch.h"

const char object_lua[] = "return model { name = 'object', vocab = 29, context = 150, dim = 40, "
                          "norm = rmsnorm {}, residual = haares { blocks = 2 },\n"
                          "  embedding = { positions = 'learned' },\n"
                          "  layers = times(3, layer { attention { heads = 4, kv_heads = 2, rope = "
                          "{}, qk_norm = true }, mlp { hidden = 50 } }) }\n";

Object object;

int open_object(void **state) {
    char path[SCRATCH_PATH];
    if (scratch_setup(state)) return -1;
    built_open(&object.b, scratch_path(state, "object.lua", path), object_lua,
               &(CodegenOptions){ .cpu = "native", .level = 2 });
    instance_open(&object.r, &object.b.c, TOKENS, 1);
    instance_fill(&object.r, 1);
    object.tokens = some_ids(&object.b.c, 1, TOKENS);
    object.targets = some_ids(&object.b.c, 2, TOKENS);
    return 0;
}

int close_object(void **state) {
    free(object.tokens), free(object.targets);
    instance_close(&object.r);
    built_close(&object.b);
    return scratch_teardown(state);
}
