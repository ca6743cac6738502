/* SPDX-License-Identifier: MIT
** How the rows of a token phase are shared among workers: all of them get some, also of few rows,
** the last shares are small, and the bits are those of one worker.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_spec.h"
#include "kept_rows.h"
#include "scratch_spec.h"
#include "small_weights.h"

enum { TIME = 330, BATCH = 3, SPEC = 1000 };

#define LAYER "attention { heads = 2, rope = {} }, mlp { hidden = 72 }"

typedef struct Kind {
    const char *residual, *layer;
    CodegenOptions o;
} Kind;

static void open_kind(void **state, Built *b, Kind k) {
    char path[SCRATCH_PATH], text[SPEC];
    snprintf(text, sizeof text,
             "return model { name = 'm', vocab = 64, context = %d, dim = 32, norm = rmsnorm {},\n"
             "  residual = %s, layers = times(3, layer { %s }) }",
             TIME, k.residual, k.layer);
    k.o.prefix = "m", k.o.cpu = "native";
    built_open(b, scratch_path(state, "shares.lua", path), text, &k.o);
}

static void same_bits(const float *a, const float *b, int64_t n, const char *what, int workers) {
    for (int64_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a))
            fail_msg("%s, %d workers: element %lld is %a, of one worker %a", what, workers,
                     (long long)i, b[i], a[i]);
}

/* == The same bits ======================================================== */

/* Of some workers: logits and gradients of BATCH windows. */
typedef struct Results {
    float *logits, *gradients;
} Results;

static Results results_of(const Built *b, const int32_t *ids, int workers) {
    Instance r;
    instance_open(&r, &b->c, BATCH * TIME, workers);
    instance_fill(&r, 7);
    strata_loss loss = { .struct_size = sizeof loss };
    Results x = { logits_of(&r, ids, BATCH, TIME),
                  gradients_of(&r, ids, ids + 1, BATCH, TIME, &loss) };
    instance_close(&r);
    return x;
}

static void workers_do_not_change_a_bit(void **state) {
    static const Kind kinds[] = {
        { "haares { blocks = 2 }", LAYER, { 0 } },
        { "attnres { blocks = 2 }", LAYER ", route = dtr {}", { 0 } },
        { "standard {}", LAYER ", route = mod { capacity = 0.5 }", { .passes.bf16 = true } },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Built b;
        open_kind(state, &b, kinds[i]);
        int32_t *ids = some_ids(&b.c, 1, BATCH * TIME + 1);
        Results one = results_of(&b, ids, 1);
        for (int workers = 2; workers <= 17; workers += workers < 5 ? 1 : 12) {
            Results x = results_of(&b, ids, workers);
            same_bits(one.logits, x.logits, BATCH * TIME * b.c.model->vocab, kinds[i].residual,
                      workers);
            same_bits(one.gradients, x.gradients, gradient_floats(&b.c), kinds[i].residual,
                      workers);
            free(x.logits), free(x.gradients);
        }
        free(one.logits), free(one.gradients), free(ids);
        built_close(&b);
    }
}

/* Logits after a prompt, and of the token after it. */
static float *after_prompt(const Built *b, const int32_t *ids, int prompt, int workers) {
    Instance r;
    instance_open(&r, &b->c, prompt + 1, workers);
    instance_fill(&r, 7);
    float *p = decoded_logits(&r, ids, 1, prompt + 1, &prompt);
    instance_close(&r);
    return p;
}

/* Prompts of one share and of several. */
static void prompts_have_one_set_of_bits(void **state) {
    static const Kind kinds[] = {
        { "haares { blocks = 2 }", LAYER, { .passes.inference = true } },
        { "standard {}", LAYER, { .passes.inference = true, .passes.bf16 = true } },
        { "attnres { blocks = 2 }",
          LAYER ", route = dtr {}",
          { .passes.inference = true, .passes.cache = KEPT_Q8 } },
        { "standard {}",
          "attention { heads = 2, rope = {} }, moe { experts = 4, top = 2, hidden = 40 }",
          { .passes.inference = true, .passes.small = SMALL_Q8 } },
        { "standard {}", LAYER, { .passes.inference = true, .passes.check = true } },
    };
    static const int prompts[] = { 7, 16, 17, 70, 200, TIME - 1 };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Built b;
        open_kind(state, &b, kinds[i]);
        int32_t *ids = some_ids(&b.c, 1, TIME);
        for (size_t k = 0; k < sizeof prompts / sizeof *prompts; k++) {
            int64_t vocab = b.c.model->vocab, from = (prompts[k] - 1) * vocab;
            float *one = after_prompt(&b, ids, prompts[k], 1);
            for (int workers = 2; workers <= 7; workers += 2) {
                float *x = after_prompt(&b, ids, prompts[k], workers);
                same_bits(one + from, x + from, 2 * vocab, kinds[i].residual, workers);
                free(x);
            }
            free(one);
        }
        free(ids);
        built_close(&b);
    }
}

/* == How many shares ====================================================== */

static int64_t handed_out; /* tasks of the last call */

static void count_tasks(void *pool, int64_t tasks, strata_task_fn fn, void *arg) {
    (void)pool;
    handed_out = tasks;
    for (int64_t i = tasks; i-- > 0;)
        fn(arg, i, 0);
}

/* Tasks of a model of one token phase. */
static int64_t tasks_of(const Built *b, int64_t rows, int workers) {
    Instance r;
    instance_open(&r, &b->c, rows, 1);
    r.workers = workers;
    instance_arena(&r, rows);
    instance_set_up(&r, (strata_setup){ .par_for = count_tasks });
    instance_fill(&r, 7);
    int32_t *ids = some_ids(&b->c, 1, rows);
    handed_out = 1;
    free(logits_of(&r, ids, 1, rows));
    free(ids);
    instance_close(&r);
    return handed_out;
}

static void all_workers_get_rows(void **state) {
    static const struct {
        int rows, workers, tasks;
    } want[] = {
        { 16, 4, 1 }, { 17, 4, 2 }, { 128, 4, 4 }, { 256, 2, 2 }, { 300, 16, 10 }, { 330, 2, 2 },
    };
    Built b;
    open_kind(state, &b, (Kind){ "standard {}", "mlp { hidden = 72 }", { .chunk = 256 } });
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(tasks_of(&b, want[i].rows, want[i].workers), want[i].tasks);
    built_close(&b);
}

static void the_last_shares_are_small(void **state) {
    Built b;
    open_kind(state, &b, (Kind){ "standard {}", "mlp { hidden = 72 }", { .chunk = 128 } });
    assert_int_equal(tasks_of(&b, TIME, 2), 5); /* 128, 112, 48, 32, 10 */
    assert_int_equal(tasks_of(&b, TIME, 3), 3); /* 112, 112, 106 */
    built_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_do_not_change_a_bit),
        cmocka_unit_test(prompts_have_one_set_of_bits),
        cmocka_unit_test(all_workers_get_rows),
        cmocka_unit_test(the_last_shares_are_small),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
