/* SPDX-License-Identifier: MIT
** What a training step keeps of its forward part (--memory) changes memory and time, and gradients
** by rounding only (a product and a sum become one operation in one kernel and not in another): the
** same model three times, for mixers of every kind and both norms.  Threads change no bit.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_spec.h"
#include "planned.h"
#include "plan.h"
#include "scratch_spec.h"

enum { KEEPS = 3, BATCH = 3, TIME = 47, TOKENS = BATCH * TIME };

static const Keep keeps[KEEPS] = { KEEP_SMALL, KEEP_AUTO, KEEP_FAST };

typedef struct Row {
    const char *residual, *norm, *activation;
} Row;

static const Row rows[] = {
    { "standard {}", "rmsnorm {}", "swiglu" },
    { "standard {}", "layernorm {}", "gelu" },
    { "layerscale {}", "layernorm {}", "swiglu" },
    { "denseformer {}", "rmsnorm {}", "swiglu" },
    { "attnres { blocks = 2 }", "rmsnorm {}", "relu" },
    { "attnres { full = true, query = 'input' }", "layernorm {}", "swiglu" },
    { "haares { blocks = 2, heads = 2 }", "rmsnorm {}", "swiglu" },
    { "mhc { streams = 2 }", "rmsnorm {}", "swiglu" },
    { "drr { heads = 2, window = 3, block_layers = 1, causal = true, chunk = 5 }", "layernorm {}",
      "swiglu" },
};
enum { ROWS = sizeof rows / sizeof *rows };

static void spec_of(const Row *row, int layers, char *text, size_t size) {
    snprintf(text, size,
             "return model { name = 'keep', vocab = 40, context = 64, dim = 32, norm = %s, "
             "residual = %s,\n"
             "  layers = times(%d, layer { attention { heads = 4, kv_heads = 2, rope = {}, qk_norm "
             "= true },\n"
             "    mlp { hidden = 80, activation = '%s' } }) }\n",
             row->norm, row->residual, layers, row->activation);
}

/* == Memory =============================================================== */

static int64_t token_bytes(const Model *m, Keep keep, bool bf16) {
    Error why;
    ModelInfo info = spec_info(m);
    Planned p;
    assert_int_equal(
        planned_make(
            m->graph, &info,
            &(CodegenOptions){ .cpu = "x86-64-v3", .passes.keep = keep, .passes.bf16 = bf16 }, &p,
            &why),
        0);
    int64_t bytes = p.code.model.arena_per_token;
    planned_free(&p);
    return bytes;
}

static void check_memory(const Row *row, const Model *m, int layers, bool bf16) {
    int64_t small = token_bytes(m, KEEP_SMALL, bf16), middle = token_bytes(m, KEEP_AUTO, bf16),
            fast = token_bytes(m, KEEP_FAST, bf16);
    print_message("%-40.40s %d layers, %s: %5lld %5lld %5lld bytes per token\n", row->residual,
                  layers, bf16 ? "bf16" : "f32", (long long)small, (long long)middle,
                  (long long)fast);
    assert_true(small <= middle && middle <= fast);
    if (layers > 1) assert_true(5 * small < 4 * middle);
    if (!strncmp(row->residual, "mhc", 3)) assert_true(middle < fast);
}

static void less_is_kept_in_less_memory(void **state) {
    char text[1024];
    for (int i = 0; i < ROWS; i += compiled_every())
        for (int layers = 1; layers < 8; layers += 5) {
            spec_of(&rows[i], layers, text, sizeof text);
            Model *m = scratch_model(state, "%s", text);
            for (int bf16 = 0; bf16 < 2; bf16++)
                check_memory(&rows[i], m, layers, bf16);
            spec_free(m);
        }
}

/* == Gradients ============================================================ */

/* All gradients, one tensor after another in the descriptor's order, then the loss; malloc'ed. */
static float *learnt(const Compiled *c, int workers) {
    Instance r;
    strata_loss loss;
    const strata_tensor *t = strata_tensors(c->model);
    instance_open(&r, c, TOKENS, workers);
    instance_fill(&r, 5);
    int32_t *tokens = some_ids(c, 1, TOKENS), *targets = some_ids(c, 2, TOKENS);
    float *raw = gradients_of(&r, tokens, targets, BATCH, TIME, &loss);
    float *all = malloc(((size_t)c->model->parameters + 1) * sizeof *all), *at = all;
    assert_non_null(all);
    for (int i = 0; i < c->model->tensors; at += t[i++].count)
        memcpy(at, raw + t[i].gradient, (size_t)t[i].count * sizeof *at);
    *at = (float)loss.loss;
    free(raw), free(tokens), free(targets);
    instance_close(&r);
    return all;
}

/* Where a tensor's numbers are in what 'learnt' returns; the order may differ from build to
** build. */
static const float *place(const strata_model *m, const float *all, const char *name) {
    const strata_tensor *t = strata_tensors(m);
    for (int i = 0; i < m->tensors; all += t[i++].count)
        if (!strcmp(strata_string(m, t[i].name), name)) return all;
    fail_msg("%s is missing", name);
    return NULL;
}

static void agree(const Row *row, const strata_model *m, const float *all,
                  const strata_model *want_m, const float *want) {
    const strata_tensor *t = strata_tensors(m);
    assert_int_equal(m->tensors, want_m->tensors);
    assert_int_equal(m->parameters, want_m->parameters);
    for (int i = 0; i < m->tensors; i++) {
        const char *name = strata_string(m, t[i].name);
        double d = difference(place(m, all, name), place(want_m, want, name), t[i].count);
        if (d > 2e-5) fail_msg("%s: the gradient of %s differs by %g", row->residual, name, d);
    }
    assert_true(difference(&all[m->parameters], &want[m->parameters], 1) < 1e-6);
}

static void gradients_are_the_same(void **state) {
    char path[SCRATCH_PATH], text[1024];
    for (int i = 0; i < ROWS; i += compiled_every()) {
        Built b[KEEPS];
        float *all[KEEPS];
        spec_of(&rows[i], 3, text, sizeof text);
        for (int k = 0; k < KEEPS; k++) {
            built_open(&b[k], scratch_path(state, "keep.lua", path), text,
                       &(CodegenOptions){ .cpu = "native", .level = 0, .passes.keep = keeps[k] });
            all[k] = learnt(&b[k].c, 1);
            float *threads = learnt(&b[k].c, 3);
            assert_memory_equal(all[k], threads,
                                ((size_t)b[k].c.model->parameters + 1) * sizeof(float));
            free(threads);
            agree(&rows[i], b[k].c.model, all[k], b[0].c.model, all[0]);
        }
        for (int k = 0; k < KEEPS; k++)
            free(all[k]), built_close(&b[k]);
    }
}

/* == Stray accesses ======================================================= */

static void products_again_pass_the_checks(void **state) {
    char path[SCRATCH_PATH], text[1024];
    Built b;
    spec_of(&rows[6], 2, text, sizeof text);
    built_open(&b, scratch_path(state, "keep.lua", path), text,
               &(CodegenOptions){
                   .cpu = "native", .level = 0, .passes.keep = KEEP_SMALL, .passes.check = true });
    free(learnt(&b.c, 1)); /* it aborts if a check fails */
    built_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(less_is_kept_in_less_memory),
        cmocka_unit_test(gradients_are_the_same),
        cmocka_unit_test(products_again_pass_the_checks),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
