/* SPDX-License-Identifier: MIT
** Compiled two-phase depth reads: the numbers of the interpreter, which reads one by one, and
** those of code that does too.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "scratch.h"
#include "two_phase_model.h"

enum { BATCH = 2, TIME = 19 };

static const Extent extent[] = { { 1, 1 }, { BATCH, TIME }, { 0 } };

/* The interpreter runs the graph as it is, the compiler puts reads together. */
static int compiled_status(void **state, const char *residual, int dim, CodegenOptions o) {
    Model *m = two_phase_load(state, residual, 5, dim);
    static const char *const outputs[] = { "logits", "nll", "cross_entropy", "loss", NULL };
    int status = graph_status(graph_extract(m->graph, outputs), &o, extent);
    spec_free(m);
    return status;
}

/* Lanes along channels that do and do not fill vectors; every processor in turn; tested
** accesses. */
static void compiled_code_agrees(void **state) {
    const char *const *cpu = compiled_cpus();
    int cpus = 0;
    while (cpu[cpus])
        cpus++;
    for (int i = 0; i < APPLIES; i += compiled_every()) {
        CodegenOptions o = { .cpu = cpu[i % cpus],
                             .level = i % 2,
                             .passes.check = i % 3 == 2,
                             .passes.two_phase = TWO_PHASE_ON };
        int status = compiled_status(state, two_phase_applies[i], i % 2 ? 40 : 48, o);
        if (status) fail_msg("%s, %s: status %d", two_phase_applies[i], o.cpu, status);
    }
}

/* Logits and gradients, malloc'ed, with reads together or apart. */
typedef struct Results {
    float *logits, *gradients;
    int64_t floats;
} Results;

static Results results_of(void **state, const char *residual, TwoPhase how, int workers,
                          const char *zero) {
    char path[SCRATCH_PATH], text[1024];
    Built b;
    Instance r;
    Results a;
    strata_loss loss;
    int64_t count;
    built_open(&b, scratch_path(state, "two.lua", path),
               two_phase_text(residual, 6, 32, text, sizeof text),
               &(CodegenOptions){ .cpu = "native", .level = 1, .passes.two_phase = how });
    instance_open(&r, &b.c, BATCH * TIME, workers);
    instance_fill(&r, 11);
    int32_t *ids = some_ids(&b.c, 5, BATCH * TIME + 1);
    a.floats = gradient_floats(&b.c);
    a.logits = logits_of(&r, ids, BATCH, TIME);
    a.gradients = gradients_of(&r, ids, ids + 1, BATCH, TIME, &loss);
    instance_weight(&r, zero, &count);
    for (int64_t i = 0; i < count; i++)
        if (instance_gradient(&r, zero)[i] != 0) fail_msg("%s: %s has a gradient", residual, zero);
    free(ids);
    instance_close(&r);
    built_close(&b);
    return a;
}

/* And a read of one source has no gradient for its query, exactly. */
static void on_and_off_agree(void **state) {
    static const char *const mixer[] = { "attnres { block_size = 5 }", "attnres { full = true }",
                                         "haares { blocks = 3 }" };
    const char *query = "layers.0.attention.residual.query";
    for (size_t i = 0; i < sizeof mixer / sizeof *mixer; i += (size_t)compiled_every()) {
        Results on = results_of(state, mixer[i], TWO_PHASE_ON, 1, query),
                off = results_of(state, mixer[i], TWO_PHASE_OFF, 1, query);
        Results two = results_of(state, mixer[i], TWO_PHASE_ON, 2, query);
        assert_int_equal(on.floats, off.floats);
        assert_true(difference(on.logits, off.logits, BATCH * TIME * VOCAB) < 2e-5);
        assert_memory_equal(on.logits, two.logits, BATCH * TIME * VOCAB * sizeof *on.logits);
        assert_memory_equal(on.gradients, two.gradients, (size_t)on.floats * sizeof *on.gradients);
        free(on.logits), free(off.logits), free(two.logits);
        free(on.gradients), free(off.gradients), free(two.gradients);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_code_agrees),
        cmocka_unit_test(on_and_off_agree),
    };
    return cmocka_run_group_tests(tests, two_phase_setup, scratch_teardown);
}
