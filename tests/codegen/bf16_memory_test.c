/* SPDX-License-Identifier: MIT
** What models built with --precision bf16 keep: the weights that an update packs for the next
** step, and activations and weights as bfloat16, which take less room.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "bf16_model.h"
#include "scratch.h"

/* == Packed weights ======================================================= */

static void good(const Instance *r, int32_t status) {
    if (status) fail_msg("status %d: %s", status, r->c->api.message(r->ctx.at));
}

enum { STEPS = 3, PIECES = 7, MANY = 300 };

static void start(Instance *r, const Built *b, int workers) {
    instance_open(r, &b->c, MANY, workers);
    instance_fill(r, 5);
    memset(r->train.at, 0, r->train.size);
}

/* AdamW, on all at once or on pieces that end anywhere, the last first. */
static void update(Instance *r, int64_t step, bool pieces) {
    int64_t count = gradient_floats(r->c), last = pieces ? PIECES : 1;
    strata_adamw how = { .struct_size = sizeof how,
                         .lr = 0.01,
                         .beta1 = 0.9,
                         .beta2 = 0.95,
                         .eps = 1e-8,
                         .weight_decay = 0.1,
                         .grad_scale = 0.5,
                         .step = step };
    guarded_writable(&r->weights, true);
    for (int64_t i = last; i-- > 0;) {
        int64_t from = count * i / last, to = count * (i + 1) / last;
        good(r, r->c->api.update(r->ctx.at, r->weights.at, r->train.at, from, to - from, &how));
    }
    guarded_writable(&r->weights, false);
}

static double step(Instance *r, const int32_t *tokens, const int32_t *targets, uint32_t flags) {
    strata_loss loss = { .struct_size = sizeof loss };
    good(r,
         r->c->api.forward_backward(r->ctx.at, r->weights.at, r->train.at, r->arena.at, tokens,
                                    targets, 1, MANY, 1, flags, NULL, NULL, &loss));
    return loss.loss;
}

/* The weights that update leaves packed are those that a step would pack, however the update was
** split. */
static void weights_are_kept_packed(void **state) {
    Bf16Kind wide = bf16_kinds[0], odd = bf16_kinds[4];
    wide.mlp = "hidden = 600, activation = 'swiglu'";
    for (int i = 0; i < 4; i++) {
        Built b;
        Instance plain, kept;
        bf16_open(state, &b, i % 2 ? &odd : &wide, 2, i < 2 ? 40 : 280,
                  (CodegenOptions){ .passes.bf16 = true });
        start(&plain, &b, 1), start(&kept, &b, 2);
        int32_t *tokens = some_ids(&b.c, 6, MANY), *targets = some_ids(&b.c, 7, MANY);
        for (int k = 0; k < STEPS; k++) {
            assert_true(step(&plain, tokens, targets, 0)
                        == step(&kept, tokens, targets, k ? STRATA_PACKED : 0));
            update(&plain, k + 1, false);
            update(&kept, k + 1, i % 2 == k % 2);
            same_floats("weight", kept.weights.at, plain.weights.at, b.c.model->weights_bytes / 4);
        }
        assert_true(step(&plain, tokens, targets, 0)
                    == step(&kept, tokens, targets, STRATA_PACKED));
        same_floats("gradient", kept.train.at, plain.train.at, gradient_floats(&b.c));
        free(tokens), free(targets);
        instance_close(&plain), instance_close(&kept);
        built_close(&b);
    }
}

/* With the flag a step takes what update left: a weight that was changed since counts without it
** only. */
static void packed_weights_are_taken(void **state) {
    Built b;
    Instance r;
    bf16_open(state, &b, &bf16_kinds[0], 2, 40, (CodegenOptions){ .passes.bf16 = true });
    start(&r, &b, 2);
    int32_t *tokens = some_ids(&b.c, 6, MANY), *targets = some_ids(&b.c, 7, MANY);
    step(&r, tokens, targets, 0);
    update(&r, 1, false);
    double before = step(&r, tokens, targets, STRATA_PACKED);
    instance_set(&r, "mlp.up.weight", 0);
    double packed = step(&r, tokens, targets, STRATA_PACKED),
           changed = step(&r, tokens, targets, 0);
    bool keeps = b.c.model->train_bytes > 12 * b.c.model->gradients;
    print_message("%s\n",
                  keeps ? "weights are kept packed"
                        : "this processor multiplies no pairs: nothing is kept packed");
    assert_true(changed != before && (packed == before) == keeps);
    free(tokens), free(targets);
    instance_close(&r);
    built_close(&b);
}

/* == Room ================================================================= */

static double arena_per_token(const Built *b) {
    return (double)(b->c.api.arena_bytes(4096, 1) - b->c.api.arena_bytes(2048, 1)) / 2048;
}

static void activations_take_less_room(void **state) {
    for (int i = 0; i < MODELS; i += compiled_every()) {
        Built b, plain;
        bf16_open(state, &b, &bf16_kinds[i], 2, 64, (CodegenOptions){ .passes.bf16 = true });
        bf16_open(state, &plain, &bf16_kinds[i], 2, 64, (CodegenOptions){ .passes.bf16 = false });
        double bytes = arena_per_token(&b), more = arena_per_token(&plain);
        print_message("%s: %.0f bytes per token, float32 %.0f\n", bf16_kinds[i].name, bytes, more);
        assert_true(bytes < more);
        if (bf16_kinds[i].dim) assert_true(3 * bytes < 2 * more); /* q, k, v and sources, too */
        assert_string_equal(strata_string(b.c.model, b.c.model->precision), "bf16");
        assert_string_equal(strata_string(plain.c.model, plain.c.model->precision), "f32");
        built_close(&b), built_close(&plain);
    }
}

/* Matrices of products and tables of rows take half the room where nothing is trained; what a row
** kernel reads, a mixer's queries among it, is float32. */
static void weights_take_less_room(void **state) {
    for (int i = 0; i < MODELS; i += compiled_every()) {
        Built b, forward;
        bf16_open(state, &b, &bf16_kinds[i], 2, 64, (CodegenOptions){ .passes.bf16 = true });
        bf16_open(state, &forward, &bf16_kinds[i], 2, 64,
                  (CodegenOptions){ .passes.bf16 = true, .passes.inference = true });
        const strata_tensor *t = strata_tensors(forward.c.model);
        int64_t bytes = 0;
        for (int k = 0; k < forward.c.model->tensors; k++) {
            const char *name = strata_string(forward.c.model, t[k].name);
            bool attention = strstr(name, "attn.") && !strstr(name, "norm"),
                 mlp = strstr(name, "mlp.") && !strstr(name, "norm");
            bool matrix = t[k].rank == 2
                && ((strstr(name, "weight") && (attention || mlp)) || !strncmp(name, "embed", 5));
            if (matrix && !t[k].type) fail_msg("%s: expected bfloat16, found float32", name);
            if (t[k].rank < 2 && t[k].type) fail_msg("%s: expected float32, found bfloat16", name);
            bytes += (t[k].count * (t[k].type ? 2 : 4) + 63) / 64 * 64;
        }
        print_message("%s: weights of %lld bytes, to be trained %lld\n", bf16_kinds[i].name,
                      (long long)forward.c.model->weights_bytes,
                      (long long)b.c.model->weights_bytes);
        assert_true(bytes == forward.c.model->weights_bytes
                    && 10 * bytes < 6 * b.c.model->weights_bytes);
        for (int k = 0; k < b.c.model->tensors; k++)
            assert_true(!strata_tensors(b.c.model)[k].type);
        built_close(&b), built_close(&forward);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_kept_packed),
        cmocka_unit_test(packed_weights_are_taken),
        cmocka_unit_test(activations_take_less_room),
        cmocka_unit_test(weights_take_less_room),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
