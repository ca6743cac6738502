/* SPDX-License-Identifier: MIT
** Evaluation and generation run the row kernels of the training step, none beside them, but where
** what that passes on to its backward part is not little, as of hyper-connections.
*/
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "compiled_spec.h"
#include "planned.h"
#include "kept_rows.h"
#include "scratch_spec.h"

typedef struct Row {
    const char *residual, *norm, *activation;
    int layers, apart; /* kernels that are not shared, as training stores much more */
} Row;

static const Row rows[] = {
    { "standard {}", "rmsnorm {}", "swiglu", 3, 0 },
    { "standard {}", "layernorm {}", "gelu", 3, 0 },
    { "denseformer {}", "rmsnorm {}", "swiglu", 4, 0 },
    { "attnres { blocks = 2 }", "rmsnorm {}", "relu", 6, 0 },
    { "attnres { full = true }", "rmsnorm {}", "swiglu", 12, 0 },
    { "haares { blocks = 4 }", "rmsnorm {}", "swiglu", 24, 0 },
    /* reads whose first parts training makes together, and streams it mixes early */
    { "haares { blocks = 4 }", "rmsnorm {}", "swiglu", 48, 0 },
    { "hyper { streams = 4 }", "rmsnorm {}", "swiglu", 4, 2 },
    { "mhc { streams = 4 }", "rmsnorm {}", "swiglu", 4, 0 },
};
enum { ROWS = sizeof rows / sizeof *rows };

static Model *model_of(void **state, const Row *row) {
    return scratch_model(state,
                         "return model { name = 'alike', vocab = 40, context = 64, dim = 512, "
                         "norm = %s, residual = %s,\n"
                         "  layers = times(%d, layer { attention { heads = 8, rope = {} },\n"
                         "    mlp { hidden = 80, activation = '%s' } }) }\n",
                         row->norm, row->residual, row->layers, row->activation);
}

/* Row kernels that run outside the training step only. */
static int kernels_apart(const Model *m, PassOptions passes) {
    Error why;
    ModelInfo info = spec_info(m);
    Planned p;
    int n = 0;
    assert_int_equal(planned_make(m->graph, &info,
                                  &(CodegenOptions){ .cpu = "x86-64-v3", .passes = passes }, &p,
                                  &why),
                     0);
    for (int i = 0; i < p.code.nkernel; i++) {
        const KernelInfo *k = &p.code.kernel[i];
        n += !strcmp(k->family, "row") && k->forward.calls > 0 && !(k->training.calls > 0);
    }
    planned_free(&p);
    return n;
}

static void kernels_are_those_of_training(void **state) {
    for (int i = 0; i < ROWS; i++) {
        Model *m = model_of(state, &rows[i]);
        for (int how = 0; how < 3; how++) {
            PassOptions passes = { .bf16 = how == 1, .cache = how == 2 ? KEPT_Q8 : KEPT_F32 };
            int with = kernels_apart(m, passes);
            passes.off = 1u << PASS_alike;
            int without = kernels_apart(m, passes);
            /* training gives attention bfloat16s and takes them from it */
            int expected = rows[i].apart + (passes.bf16 ? 2 : 0);
            if (with != expected || without <= with)
                fail_msg("%s, %d: expected %d kernels apart, found %d, %d without the pass",
                         rows[i].residual, how, expected, with, without);
        }
        spec_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(kernels_are_those_of_training) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
