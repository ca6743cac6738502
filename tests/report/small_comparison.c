/* SPDX-License-Identifier: MIT
** See small_comparison.h. */
#include "small_comparison.h"

#include "test.h"

#include <stdio.h>

#include "scratch_spec.h"

const char *const small_residual[SMALL_RESIDUALS] = { "standard {}",
                                                      "haares { blocks = 2 }",
                                                      "attnres { full = true }",
                                                      "hyper { streams = 2 }",
                                                      "mhc { streams = 3 }",
                                                      "denseformer {}",
                                                      "highway {}",
                                                      "attnres { blocks = 2 }" };

Report *small_comparison_report(void **state, const char *file, const char *residual, int layers) {
    return scratch_report(state, file, &(ReportOptions){ 0 },
                          "return model {\n  name = 'm', vocab = 64, context = 64, dim = 48, norm "
                          "= rmsnorm {},\n  residual = %s,\n"
                          "  layers = times(%d, layer {\n    attention { heads = 3, rope = {} },\n "
                          "   mlp { hidden = 96, activation = 'swiglu' } }) }\n",
                          residual, layers);
}

Comparison small_comparison(void **state, int n, int layers) {
    Comparison c = { .n = n, .command = "strata compare 0.lua 1.lua" };
    for (int i = 0; i < n; i++) {
        char file[16];
        snprintf(file, sizeof file, "%d.lua", i);
        c.variant[i] =
            (Variant){ .report = small_comparison_report(state, file, small_residual[i], layers),
                       .code_bytes = 1000 + i,
                       .compile_seconds = 1 };
    }
    compare_name(&c);
    return c;
}

char *comparison_written(const Comparison *c, void (*write)(const Comparison *, Text *),
                         size_t *n) {
    Text t = { 0 };
    write(c, &t);
    assert_false(t.failed);
    assert_non_null(t.at);
    if (n) *n = t.length;
    return t.at;
}
