/* SPDX-License-Identifier: MIT
** Where values of all tokens begin: their rows of one token do not crowd into a few sets of the
** first-level cache, whatever the model's dim.
*/
#include "test.h"

#include <stdio.h>

#include "compiled_spec.h"
#include "planned.h"
#include "plan.h"
#include "scratch_spec.h"
#include "sizes.h"

enum { CACHE_LINE = 64, CACHE_SETS = 64, A_SHARE = 4 };

static const int dims[] = { 32, 64, 96, 128, 256, 512, 768, 1024 };
static const int64_t tokens[] = { GRANULE, 1024, 2048, 3 * GRANULE };

/* Of 'count' values, the most whose rows of a token begin in the same set. */
static int most_in_a_set(const Plan *p, int64_t rows, int64_t floats, int *count) {
    int in[CACHE_SETS] = { 0 }, most = 0;
    *count = 0;
    for (int i = 0; i < p->g->n; i++) {
        const Buffer *b = p->buffer[i];
        if (!b || b->into || b->space != SPACE_TOKEN || b->count != floats) continue;
        int n = ++in[(uint64_t)(b->offset * rows * 4) / CACHE_LINE % CACHE_SETS];
        if (n > most) most = n;
        ++*count;
    }
    return most;
}

static void rows_are_spread(void **state) {
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        Model *m = scratch_model(
            state,
            "return model { name = 'apart', vocab = 40, context = 64, dim = %d,\n"
            "  norm = rmsnorm {}, residual = attnres { full = true },\n"
            "  layers = times(20, layer { attention { heads = 4 }, mlp { hidden = 64 } }) }\n",
            dims[i]);
        ModelInfo info = spec_info(m);
        Planned p;
        Error why;
        assert_int_equal(
            planned_make(m->graph, &info, &(CodegenOptions){ .cpu = "x86-64-v3" }, &p, &why), 0);
        for (size_t k = 0; k < sizeof tokens / sizeof *tokens; k++) {
            int count,
                most = most_in_a_set(p.plans.plan[PROGRAM_TRAIN], rows_apart(tokens[k]), dims[i],
                                     &count);
            print_message("dim %4d, %4d tokens: %d of %d values begin in one set\n", dims[i],
                          (int)tokens[k], most, count);
            assert_true(count >= 40);
            assert_true(A_SHARE * most <= count);
        }
        planned_free(&p);
        spec_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_are_spread) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
