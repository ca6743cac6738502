/* SPDX-License-Identifier: MIT
** Tokens of a task: programs whose tasks take other numbers of them give the same bits, and the
** number that is found for a model follows from its sizes.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_spec.h"
#include "planned.h"
#include "scratch_spec.h"

enum { TIME = 150, BATCH = 5 };

static void spec_of(char *text, size_t size, const char *residual, int dim, int hidden,
                    const char *route) {
    snprintf(text, size,
             "return model { name = 'm', vocab = 64, context = %d, dim = %d, norm = rmsnorm {}, "
             "residual = %s,\n"
             "  layers = times(4, layer { attention { heads = 2, rope = {} }, mlp { hidden = %d, "
             "activation = 'swiglu' }, route = %s }) }\n",
             TIME, dim, residual, hidden, route);
}

typedef struct Results {
    Compiled c;
    float *logits, *gradients;
    strata_loss loss;
    int64_t gradient_floats, logit_floats;
} Results;

static Results results_of(void **state, const char *text, int chunk, bool bf16) {
    Results x = { .loss = { .struct_size = sizeof x.loss } };
    Built b;
    Instance r;
    char path[SCRATCH_PATH];
    built_open(&b, scratch_path(state, "m.lua", path), text,
               &(CodegenOptions){ .level = 0, .prefix = "m", .chunk = chunk, .passes.bf16 = bf16 });
    assert_int_equal(b.c.model->chunk, chunk);
    instance_open(&r, &b.c, BATCH * TIME, 2);
    instance_fill(&r, 7);
    int32_t *ids = some_ids(&b.c, 1, BATCH * TIME), *targets = some_ids(&b.c, 2, BATCH * TIME);
    x.logit_floats = BATCH * TIME * b.c.model->vocab;
    x.gradient_floats = gradient_floats(&b.c);
    x.logits = logits_of(&r, ids, BATCH, TIME);
    x.gradients = gradients_of(&r, ids, targets, BATCH, TIME, &x.loss);
    free(ids), free(targets);
    instance_close(&r);
    built_close(&b);
    return x;
}

/* 750 tokens: tasks of several chunks, and of a part of one. Sums over tokens are by granule,
** whatever the chunk. */
static void other_chunks_agree(void **state) {
    static const struct {
        const char *residual, *route;
        bool bf16;
    } kind[] = {
        { "standard {}", "nil", false },
        { "haares { blocks = 2 }", "nil", false },
        { "hyper { streams = 2 }", "nil", false },
        { "attnres { blocks = 2 }", "dtr {}", false },
        { "standard {}", "mod { capacity = 0.5 }", true },
    };
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        char text[1024];
        spec_of(text, sizeof text, kind[i].residual, 32, 72, kind[i].route);
        Results first = results_of(state, text, 256, kind[i].bf16);
        for (int chunk = 64; chunk <= 512; chunk *= chunk == 128 ? 4 : 2) {
            Results x = results_of(state, text, chunk, kind[i].bf16);
            if (memcmp(x.logits, first.logits, (size_t)x.logit_floats * sizeof(float)))
                fail_msg("%s: logits differ with chunks of %d", kind[i].residual, chunk);
            if (memcmp(x.gradients, first.gradients, (size_t)x.gradient_floats * sizeof(float)))
                fail_msg("%s: gradients differ by %g with chunks of %d", kind[i].residual,
                         difference(x.gradients, first.gradients, x.gradient_floats), chunk);
            assert_true(x.loss.loss == first.loss.loss);
            free(x.logits), free(x.gradients);
        }
        free(first.logits), free(first.gradients);
    }
}

static int chunk_found(void **state, const char *residual, int dim, int hidden, const char *cpu) {
    char text[1024];
    spec_of(text, sizeof text, residual, dim, hidden, "nil");
    Model *m = scratch_model(state, "%s", text);
    ModelInfo info = spec_info(m);
    Planned planned;
    Error why;
    assert_int_equal(planned_make(m->graph, &info, &(CodegenOptions){ .cpu = cpu, .prefix = "m" },
                                  &planned, &why),
                     0);
    int chunk = planned.code.model.chunk;
    planned_free(&planned);
    spec_free(m);
    return chunk;
}

/* Large weights ask for large chunks, of wide vectors larger ones; what passes between steps and is
** more than the cache, for small ones. */
static void sizes_decide(void **state) {
    assert_int_equal(chunk_found(state, "standard {}", 512, 2048, "x86-64-v3"), 256);
    assert_int_equal(chunk_found(state, "standard {}", 512, 2048, "x86-64-v4"), 512);
    assert_int_equal(chunk_found(state, "standard {}", 32, 64, "x86-64-v3"), 256);
    assert_int_equal(chunk_found(state, "standard {}", 32, 64, "x86-64-v4"), 512);
    /* a cache of 256 KiB */
    assert_int_equal(chunk_found(state, "hyper { streams = 8 }", 64, 64, "x86-64-v2"), 64);
    /* 1 MiB */
    assert_int_equal(chunk_found(state, "hyper { streams = 8 }", 64, 64, "x86-64-v4"), 128);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(other_chunks_agree, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(sizes_decide, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
