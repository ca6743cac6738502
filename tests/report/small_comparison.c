/* SPDX-License-Identifier: MIT
** See small_comparison.h. */
#include "small_comparison.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>

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

double *numbers(size_t n) {
    double *x = calloc(n, sizeof *x);
    assert_non_null(x);
    return x;
}

void add_times(Comparison *c, double share) {
    c->rounds = ROUNDS;
    for (int i = 0; i < c->n; i++) {
        Timing *t = &c->variant[i].timing;
        int kernels = c->variant[i].report->nkernel;
        *t = (Timing){ .seconds = numbers(ROUNDS),
                       .kernel = numbers((size_t)(ROUNDS * kernels)),
                       .tokens = 64,
                       .memory = 1e6,
                       .peak = 1e11,
                       .bandwidth = 1e10 };
        for (int r = 0; r < ROUNDS; r++) {
            t->seconds[r] = (1 + share * i) * (1 + 0.01 * ((r + i) % 3));
            for (int k = 0; k < kernels; k++)
                t->kernel[r * kernels + k] = t->seconds[r] / kernels;
        }
        t->slower = stats_ratio(t->seconds, c->variant->timing.seconds, ROUNDS);
    }
}

void add_training(Comparison *c, double better) {
    static const uint64_t seed[SEEDS] = { 1, 2, 3 };
    c->text = "text", c->steps = STEPS, c->seeds = SEEDS, c->seed = seed;
    for (int i = 0; i < c->n; i++) {
        c->variant[i].run = calloc(SEEDS, sizeof *c->variant[i].run);
        assert_non_null(c->variant[i].run);
        for (int s = 0; s < SEEDS; s++) {
            TrainRun *r = &c->variant[i].run[s];
            *r = (TrainRun){ .loss = numbers(STEPS),
                             .seconds = numbers(STEPS),
                             .value = numbers(EVALUATIONS),
                             .evaluations = EVALUATIONS };
            r->step = calloc(EVALUATIONS, sizeof *r->step);
            assert_non_null(r->step);
            for (int k = 0; k < STEPS; k++)
                r->loss[k] = 3 - 0.03 * k + 0.01 * s, r->seconds[k] = k + 1;
            for (int k = 0; k < EVALUATIONS; k++)
                r->step[k] = 10 * (k + 1),
                r->value[k] = 3 - 0.5 * k + 0.1 * s - (better + 0.001 * s) * i;
        }
    }
}
