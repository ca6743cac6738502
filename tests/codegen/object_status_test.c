/* SPDX-License-Identifier: MIT
** What an object's functions say to whatever is wrong with a call: a status, and
** a message that names what was found and what was expected; never a crash. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "scratch.h"

static void refused(int32_t status, int32_t want, const char *words) {
    const char *text = object.b.c.api.message(object.r.ctx.at);
    assert_int_equal(status, want);
    if (!strstr(text, words)) fail_msg("expected a message about '%s', found '%s'", words, text);
}

static void wrong_arguments_of_calls_are_refused(void **state) {
    (void)state;
    const strata_api *a = &object.b.c.api;
    void *ctx = object.r.ctx.at, *arena = object.r.arena.at, *train = object.r.train.at;
    char *w = object.r.weights.at;
    int32_t *ids = object.tokens, bad[4] = { 0, 1, 2, VOCAB }, worse[4] = { -1, 0, 0, 0 };
    float out[8 * VOCAB];
    refused(a->logits(ctx, NULL, arena, ids, 1, 4, out), STRATA_ERROR_ARGUMENT, "w is a null");
    refused(a->logits(ctx, w, NULL, ids, 1, 4, out), STRATA_ERROR_ARGUMENT, "arena is a null");
    refused(a->logits(ctx, w, arena, NULL, 1, 4, out), STRATA_ERROR_ARGUMENT, "tokens is a null");
    refused(a->logits(ctx, w, arena, ids, 1, 4, NULL), STRATA_ERROR_ARGUMENT, "out is a null");
    refused(a->logits(ctx, w + 4, arena, ids, 1, 4, out), STRATA_ERROR_ARGUMENT, "off by 4 of 64");
    refused(a->logits(ctx, w, (char *)arena + 8, ids, 1, 4, out), STRATA_ERROR_ARGUMENT,
            "off by 8");
    refused(a->logits(ctx, w, arena, ids, 0, 4, out), STRATA_ERROR_ARGUMENT, "batch is 0");
    refused(a->logits(ctx, w, arena, ids, 1, 0, out), STRATA_ERROR_ARGUMENT, "length is 0");
    refused(a->logits(ctx, w, arena, ids, 1, CONTEXT + 1, out), STRATA_ERROR_ARGUMENT,
            "length is 151");
    refused(a->logits(ctx, w, arena, bad, 2, 2, out), STRATA_ERROR_ARGUMENT, "token [1,1] is 29");
    refused(a->loss(ctx, w, arena, ids, worse, 1, 4, out, NULL), STRATA_ERROR_ARGUMENT,
            "target [0,0] is -1");
    refused(a->loss(ctx, w, arena, ids, NULL, 1, 4, out, NULL), STRATA_ERROR_ARGUMENT,
            "targets is a null");
    refused(a->forward_backward(ctx, w, train, arena, ids, NULL, 1, 4, 1, 0, NULL, NULL, NULL),
            STRATA_ERROR_ARGUMENT, "targets");
    refused(a->forward_backward(ctx, w, NULL, arena, ids, ids, 1, 4, 1, 0, NULL, NULL, NULL),
            STRATA_ERROR_ARGUMENT, "train is a null");
    refused(a->forward_backward(ctx, w, (char *)train + 4, arena, ids, ids, 1, 4, 1, 0, NULL, NULL,
                                NULL),
            STRATA_ERROR_ARGUMENT, "off by 4");
    assert_int_equal(a->logits(NULL, w, arena, ids, 1, 4, out), STRATA_ERROR_ARGUMENT);
    memset(arena, 0x5a,
           (size_t)a->model()->ctx_bytes < object.r.arena.size ? (size_t)a->model()->ctx_bytes
                                                               : object.r.arena.size);
    /* not a context */
    assert_int_equal(a->logits(arena, w, arena, ids, 1, 4, out), STRATA_ERROR_ARGUMENT);
    refused(a->logits(ctx, w, arena, ids, 1, 4, out), STRATA_OK, "");
    assert_string_equal(a->message(ctx), "");
}

static void batches_beyond_all_memory_are_refused(void **state) {
    (void)state;
    const strata_api *a = &object.b.c.api;
    void *ctx = object.r.ctx.at, *arena = object.r.arena.at, *train = object.r.train.at,
         *w = object.r.weights.at;
    int32_t *ids = object.tokens;
    float out[VOCAB];
    /* B * T is 8 in 64 bits */
    refused(a->logits(ctx, w, arena, ids, (INT64_C(1) << 61) + 1, 8, out), STRATA_ERROR_ARGUMENT,
            "batch is 2305843009213693953, expected 1 to ");
    refused(a->loss(ctx, w, arena, ids, ids, (INT64_C(1) << 61) + 1, 8, out, NULL),
            STRATA_ERROR_ARGUMENT, "batch is 2305843009213693953");
    refused(a->forward_backward(ctx, w, train, arena, ids, ids, (INT64_C(1) << 61) + 1, 8, 1, 0,
                                NULL, NULL, NULL),
            STRATA_ERROR_ARGUMENT, "batch is 2305843009213693953");
    refused(a->decode(ctx, w, &train, INT32_MAX, arena, ids, out), STRATA_ERROR_ARGUMENT,
            "batch is 2147483647, expected 1 to ");
}

static void wrong_ranges_and_settings_are_refused(void **state) {
    (void)state;
    const strata_api *a = &object.b.c.api;
    void *ctx = object.r.ctx.at, *train = object.r.train.at, *w = object.r.weights.at;
    int64_t n = gradient_floats(&object.b.c);
    double out;
    strata_loss odd = { .struct_size = sizeof odd, .reserved = { 0, 0, 9 } };
    strata_adamw how = { .struct_size = sizeof how, .lr = 1, .step = 1 }, none = how, old = how;
    none.step = 0, old.struct_size = 8;
    refused(a->sum_squares(ctx, train, -1, 4, &out), STRATA_ERROR_ARGUMENT, "starts at -1");
    refused(a->sum_squares(ctx, train, 0, n + 1, &out), STRATA_ERROR_ARGUMENT, "expected 0 to");
    refused(a->sum_squares(ctx, train, 5, INT64_MAX, &out), STRATA_ERROR_ARGUMENT, "expected 0 to");
    refused(a->sum_squares(ctx, train, 0, 4, NULL), STRATA_ERROR_ARGUMENT, "out is a null");
    refused(a->sum_squares(ctx, NULL, 0, 4, &out), STRATA_ERROR_ARGUMENT, "train is a null");
    refused(a->update(ctx, NULL, train, 0, 4, &how), STRATA_ERROR_ARGUMENT, "w is a null");
    refused(a->update(ctx, w, train, 0, 4, NULL), STRATA_ERROR_ARGUMENT, "settings is a null");
    refused(a->update(ctx, w, train, 0, 4, &old), STRATA_ERROR_ARGUMENT,
            "size of the update's settings is 8");
    refused(a->update(ctx, w, train, 0, 4, &none), STRATA_ERROR_ARGUMENT, "step is 0");
    assert_int_equal(a->update(NULL, w, train, 0, 4, &how), STRATA_ERROR_ARGUMENT);
    refused(a->update(ctx, (char *)w + 4, train, 0, 4, &how), STRATA_ERROR_ARGUMENT,
            "w must be aligned; the address is off by 4 of 64");
    refused(a->update(ctx, w, (char *)train + 4, 0, 4, &how), STRATA_ERROR_ARGUMENT, "off by 4");
    refused(a->sum_squares(ctx, (char *)train + 4, 0, 4, &out), STRATA_ERROR_ARGUMENT, "off by 4");
    old = how, old.reserved[1] = -5;
    refused(a->update(ctx, w, train, 0, 4, &old), STRATA_ERROR_ARGUMENT,
            "reserved member of the update's settings is -5, expected 0");
    void *arena = object.r.arena.at;
    int32_t *ids = object.tokens;
    refused(a->loss(ctx, w, arena, ids, ids, 1, 4, NULL, &odd), STRATA_ERROR_ARGUMENT,
            "reserved member of the loss is 9");
    refused(a->forward_backward(ctx, w, train, arena, ids, ids, 1, 4, 1, 0, NULL, NULL, &odd),
            STRATA_ERROR_ARGUMENT, "reserved member of the loss is 9");
    refused(a->forward_backward(ctx, w, train, arena, ids, ids, 1, 4, 1, 4, NULL, NULL, NULL),
            STRATA_ERROR_ARGUMENT, "flags are 4, expected at most 3");
    odd.struct_size = 0; /* then no more than the two results are looked at */
    refused(a->loss(ctx, w, arena, ids, ids, 1, 4, NULL, &odd), STRATA_OK, "");
    refused(a->update(ctx, w, train, n, 0, &how), STRATA_OK, "");
}

/* Numbers of an update that are none or outside of what they can be; no weight changes. */
static void numbers_must_be_in_their_range(void **state) {
    (void)state;
    static const char rate[][16] = { "lr", "beta1", "beta2", "eps", "weight_decay", "grad_scale" };
    _Static_assert(offsetof(strata_adamw, grad_scale) - offsetof(strata_adamw, lr) == 40, "rates");
    static const struct {
        double value;
        const char *says[2]; /* [1]: of beta1 and beta2 */
    } row[] = { { NAN, { "not finite", "not finite" } },
                { -INFINITY, { "not finite", "not finite" } },
                { -1e-300, { "below 0", "below 0" } },
                { 1e39, { "more than float32 holds", "1 or more, expected less" } } };
    enum { ROWS = sizeof row / sizeof *row };
    const strata_api *a = &object.b.c.api;
    void *ctx = object.r.ctx.at, *train = object.r.train.at, *w = object.r.weights.at;
    for (size_t i = 0; i < ROWS * sizeof rate / sizeof *rate; i++) {
        strata_adamw how = { .struct_size = sizeof how, .lr = 1, .step = 1 };
        size_t which = i / ROWS, k = i % ROWS;
        char says[64], before[4 * sizeof(float)];
        memcpy(before, w, sizeof before);
        (&how.lr)[which] = row[k].value;
        snprintf(says, sizeof says, "%s is %s", rate[which], row[k].says[which == 1 || which == 2]);
        refused(a->update(ctx, w, train, 0, 4, &how), STRATA_ERROR_ARGUMENT, says);
        assert_memory_equal(before, w, sizeof before);
        if (which || k > 1) continue;
        refused(a->forward_backward(ctx, w, train, object.r.arena.at, object.tokens, object.tokens,
                                    1, 4, (float)row[k].value, 0, NULL, NULL, NULL),
                STRATA_ERROR_ARGUMENT, "scale is not finite");
    }
}

static void wrong_sizes_need_nothing(void **state) {
    (void)state;
    const strata_api *a = &object.b.c.api;
    assert_int_equal(a->state_bytes(0), 0);
    assert_int_equal(a->state_bytes(CONTEXT + 1), 0);
    assert_int_equal(a->arena_bytes(0, 1), 0);
    assert_int_equal(a->arena_bytes(1, 0), 0);
    assert_int_equal(a->arena_bytes((INT64_C(1) << 40) + 1, 1), 0);
    assert_int_equal(a->arena_bytes(INT64_MAX, INT32_MAX), 0);
}

static void wrong_states_are_refused(void **state) {
    (void)state;
    const strata_api *a = &object.b.c.api;
    void *ctx = object.r.ctx.at, *arena = object.r.arena.at, *w = object.r.weights.at;
    int32_t *ids = object.tokens;
    float out[2 * VOCAB];
    Guarded five, six;
    guarded_open(&five, a->state_bytes(5)), guarded_open(&six, a->state_bytes(6));
    memset(five.at, 0x5a, a->state_bytes(5));
    refused(a->prefill(ctx, w, five.at, arena, ids, 1, out), STRATA_ERROR_STATE,
            "not one of this model");
    refused(a->state_init(ctx, NULL, CONTEXT), STRATA_ERROR_ARGUMENT,
            "the state is a null pointer");
    refused(a->state_init(ctx, (char *)five.at + 16, CONTEXT), STRATA_ERROR_ARGUMENT,
            "the state must be aligned; the address is off by 16 of 64");
    refused(a->state_init(ctx, five.at, CONTEXT + 1), STRATA_ERROR_ARGUMENT,
            "context of a state is 151");
    assert_int_equal(a->state_init(NULL, five.at, 5), STRATA_ERROR_ARGUMENT);
    refused(a->state_init(ctx, five.at, 5), STRATA_OK, "");
    refused(a->state_init(ctx, six.at, 6), STRATA_OK, "");
    refused(a->prefill(ctx, w, five.at, arena, ids, 6, out), STRATA_ERROR_FULL,
            "would have 6 tokens");
    refused(a->prefill(ctx, w, NULL, arena, ids, 1, out), STRATA_ERROR_STATE, "state");
    refused(a->decode(ctx, w, NULL, 1, arena, ids, out), STRATA_ERROR_ARGUMENT, "states is a null");
    refused(a->decode(ctx, w, (void *[]){ five.at }, 1, arena, ids, NULL), STRATA_ERROR_ARGUMENT,
            "logits is a null");
    refused(a->decode(ctx, w, (void *[]){ five.at, NULL }, 2, arena, ids, out), STRATA_ERROR_STATE,
            "state");
    refused(a->decode(ctx, w, (void *[]){ five.at, six.at }, 2, arena, ids, out),
            STRATA_ERROR_STATE, "found 6 and 5");
    refused(a->decode(ctx, w, (void *[]){ five.at }, 0, arena, ids, out), STRATA_ERROR_ARGUMENT,
            "batch is 0");
    refused(a->prefill(ctx, w, five.at, arena, ids, 5, NULL), STRATA_OK, "");
    refused(a->decode(ctx, w, (void *[]){ five.at }, 1, arena, ids, out), STRATA_ERROR_FULL,
            "would have 6");
    guarded_close(&five), guarded_close(&six);
}

/* The message has two places of one state, and all are as they were. */
static void a_state_is_once_in_a_batch(void **state) {
    (void)state;
    enum { SEQUENCES = 7 };
    const strata_api *a = &object.b.c.api;
    void *ctx = object.r.ctx.at, *arena = object.r.arena.at, *w = object.r.weights.at;
    Guarded g[SEQUENCES];
    void *at[SEQUENCES];
    float out[SEQUENCES * VOCAB];
    for (int i = 0; i < SEQUENCES; i++) {
        guarded_open(&g[i], a->state_bytes(9));
        assert_int_equal(a->state_init(ctx, g[i].at, 9), STRATA_OK);
        at[i] = g[i].at;
    }
    refused(a->prefill(ctx, w, at[2], arena, object.tokens, 3, NULL), STRATA_OK, "");
    char *before = malloc(g[2].size);
    memcpy(before, g[2].at, g[2].size);
    at[5] = at[2];
    refused(a->decode(ctx, w, at, SEQUENCES, arena, object.tokens, out), STRATA_ERROR_ARGUMENT,
            "sequences of one batch need a state each; 2 has that of 5");
    assert_memory_equal(before, at[2], g[2].size);
    at[0] = at[2];
    refused(a->decode(ctx, w, at, SEQUENCES, arena, object.tokens, out), STRATA_ERROR_ARGUMENT,
            "state each");
    assert_memory_equal(before, at[2], g[2].size);
    at[0] = g[0].at, at[5] = g[5].at;
    refused(a->decode(ctx, w, at, SEQUENCES, arena, object.tokens, out), STRATA_OK, "");
    free(before);
    for (int i = 0; i < SEQUENCES; i++)
        guarded_close(&g[i]);
}

static void a_context_must_be_prepared_as_it_says(void **state) {
    (void)state;
    const strata_api *a = &object.b.c.api;
    size_t size = (size_t)object.b.c.model->ctx_bytes;
    strata_setup setup = { .struct_size = sizeof setup, .workers = 0 },
                 old = { .struct_size = 4, .workers = 1 };
    Guarded ctx;
    guarded_open(&ctx, size);
    assert_int_equal(a->init(NULL, size, NULL), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->init((char *)ctx.at + 4, size, NULL), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->init(ctx.at, size - 1, NULL), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->init(ctx.at, size, &old), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->init(ctx.at, size, &setup), STRATA_ERROR_ARGUMENT);
    assert_non_null(strstr(a->message(ctx.at), "workers is 0"));
    assert_int_equal(a->init(ctx.at, 10, NULL), STRATA_ERROR_ARGUMENT);
    assert_string_equal(a->message(ctx.at), ""); /* no room for one, and none of the call before */
    assert_int_equal(a->init(ctx.at, size - 1, NULL), STRATA_ERROR_ARGUMENT);
    assert_string_equal(a->message(ctx.at),
                        "the control block is smaller than the model's ctx_bytes");
    assert_int_equal(a->init(ctx.at, size, NULL), STRATA_OK);
    assert_string_equal(a->message(NULL), "");
    assert_string_equal(a->message((char *)ctx.at + 4), "");
    assert_string_equal(a->message(object.r.weights.at), ""); /* no control block */
    for (int i = 0; i <= STRATA_ERROR_CHECK; i++)
        assert_true(strlen(a->strerror_(i)) > 3);
    assert_non_null(a->strerror_(99));
    guarded_close(&ctx);
}

/* What has no meaning here may have one in a later version. */
static void a_setup_says_what_has_a_meaning(void **state) {
    (void)state;
    const strata_setup right = { .struct_size = sizeof right, .workers = 1 };
    const struct {
        strata_setup part;
        const char *why;
    } cases[] = {
        { { .flags = 8 }, "the setup's flags are 8, expected at most 7" },
        { { .flags = 0x80000001 }, "flags are 2147483649" },
        { { .reserved = { 7, 0 } }, "a reserved member of the setup is 7, expected 0" },
        { { .reserved = { 0, -1 } }, "a reserved member of the setup is -1" },
        { { .length = -1 }, "the longest sequence is -1, expected at least 0" },
        { { .routed = -1 }, "the routed share is -1" },
        { { .routed = 1000002 }, "the routed share is 1000002" },
        { { .yarn = NAN, .yarn_scale = 1 }, "yarn: expected a finite number above 0" },
        { { .yarn = -2, .yarn_scale = 1 }, "yarn: expected a finite number above 0" },
        { { .yarn = INFINITY, .yarn_scale = 1 }, "yarn: expected" },
        { { .yarn = 2, .yarn_scale = NAN }, "yarn_scale: expected a finite number above 0" },
        { { .yarn = 2 }, "yarn_scale: expected" },
    };
    const strata_api *a = &object.b.c.api;
    Guarded ctx;
    guarded_open(&ctx, (size_t)object.b.c.model->ctx_bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strata_setup s = cases[i].part;
        s.struct_size = sizeof s, s.workers = 1;
        assert_int_equal(a->init(ctx.at, ctx.size, &s), STRATA_ERROR_ARGUMENT);
        if (!strstr(a->message(ctx.at), cases[i].why))
            fail_msg("'%s', expected '%s'", a->message(ctx.at), cases[i].why);
        assert_int_equal(a->state_init(ctx.at, object.r.arena.at, 4), STRATA_ERROR_ARGUMENT);
    }
    assert_int_equal(a->init(ctx.at, ctx.size, &right), STRATA_OK);
    guarded_close(&ctx);
}

/* Of another spec, and of the same one built otherwise: its tables may lie elsewhere. */
static void a_context_is_of_one_model(void **state) {
    static const char lua[] = "return model { name = 'other', vocab = 29, context = 20, dim = 16, "
                              "norm = rmsnorm {}, layers = times(1, layer { mlp { hidden = 8 } }) "
                              "}\n";
    char path[SCRATCH_PATH];
    const strata_api *a = &object.b.c.api;
    double sum;
    for (int same = 0; same < 2; same++) {
        Built b;
        built_open(&b, scratch_path(state, "other.lua", path), same ? object_lua : lua,
                   &(CodegenOptions){ .cpu = "native", .level = 1 });
        size_t size = (size_t)(a->model()->ctx_bytes > b.c.model->ctx_bytes ? a->model()->ctx_bytes
                                                                            : b.c.model->ctx_bytes);
        Guarded ctx;
        guarded_open(&ctx, size);
        assert_int_equal(b.c.api.init(ctx.at, size, NULL), STRATA_OK);
        assert_int_equal(a->logits(ctx.at, object.r.weights.at, object.r.arena.at, object.tokens, 1,
                                   4, object.r.arena.at),
                         STRATA_ERROR_ARGUMENT);
        assert_int_equal(a->sum_squares(ctx.at, object.r.train.at, 0, 4, &sum),
                         STRATA_ERROR_ARGUMENT);
        assert_int_equal(a->state_init(ctx.at, object.r.arena.at, 4), STRATA_ERROR_ARGUMENT);
        assert_int_equal(a->init(ctx.at, size, NULL), STRATA_OK);
        assert_int_equal(a->sum_squares(ctx.at, object.r.train.at, 0, 4, &sum), STRATA_OK);
        guarded_close(&ctx);
        built_close(&b);
    }
}

static void inference_objects_miss_training(void **state) {
    char path[SCRATCH_PATH];
    Built b;
    built_open(&b, scratch_path(state, "object.lua", path), object_lua,
               &(CodegenOptions){ .cpu = "native", .passes.inference = true });
    Instance r;
    instance_open(&r, &b.c, TOKENS, 1);
    double out;
    strata_adamw how = { .struct_size = sizeof how, .step = 1 };
    assert_int_equal(b.c.model->training, 0);
    assert_int_equal(b.c.model->train_bytes, 0);
    int32_t *ids = object.tokens;
    assert_int_equal(b.c.api.forward_backward(r.ctx.at, r.weights.at, r.weights.at, r.arena.at, ids,
                                              ids, 1, 4, 1, 0, NULL, NULL, NULL),
                     STRATA_ERROR_MISSING);
    assert_int_equal(b.c.api.sum_squares(r.ctx.at, r.weights.at, 0, 1, &out), STRATA_ERROR_MISSING);
    assert_int_equal(b.c.api.update(r.ctx.at, r.weights.at, r.weights.at, 0, 1, &how),
                     STRATA_ERROR_MISSING);
    instance_fill(&r, 1);
    float *p = logits_of(&r, object.tokens, 1, TIME),
          *q = logits_of(&object.r, object.tokens, 1, TIME);
    assert_true(difference(p, q, (int64_t)TIME * VOCAB) < 1e-6);
    free(p), free(q);
    instance_close(&r);
    built_close(&b);
}

static void models_that_see_the_future_do_not_decode(void **state) {
    static const char lua[] = "return model { name = 'both', vocab = 29, context = 20, dim = 16, "
                              "norm = rmsnorm {}, residual = standard {},\n"
                              "  layers = times(2, layer { attention { heads = 2, causal = false "
                              "}, mlp { hidden = 20 } }) }\n";
    char path[SCRATCH_PATH];
    Built b;
    Instance r;
    built_open(&b, scratch_path(state, "both.lua", path), lua,
               &(CodegenOptions){ .cpu = "native" });
    instance_open(&r, &b.c, TOKENS, 1);
    instance_fill(&r, 1);
    assert_string_equal(strata_string(b.c.model, b.c.model->acausal), "layers.0.attention");
    Guarded g;
    guarded_open(&g, b.c.api.state_bytes(20));
    assert_int_equal(b.c.api.state_init(r.ctx.at, g.at, 20), STRATA_OK);
    float logits[29];
    int32_t ids[6] = { 1, 2, 3, 4, 5, 6 };
    assert_int_equal(b.c.api.prefill(r.ctx.at, r.weights.at, g.at, r.arena.at, ids, 3, logits),
                     STRATA_ERROR_MISSING);
    assert_non_null(strstr(b.c.api.message(r.ctx.at), "not causal at layers.0.attention"));
    assert_int_equal(
        b.c.api.decode(r.ctx.at, r.weights.at, (void *[]){ g.at }, 1, r.arena.at, ids, logits),
        STRATA_ERROR_MISSING);
    float *full = logits_of(&r, ids, 1, 6), *start = logits_of(&r, ids, 1, 3);
    assert_true(difference(full, start, 29) > 1e-6);
    free(full), free(start);
    guarded_close(&g);
    instance_close(&r);
    built_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_of_calls_are_refused),
        cmocka_unit_test(batches_beyond_all_memory_are_refused),
        cmocka_unit_test(wrong_ranges_and_settings_are_refused),
        cmocka_unit_test(numbers_must_be_in_their_range),
        cmocka_unit_test(wrong_sizes_need_nothing),
        cmocka_unit_test(wrong_states_are_refused),
        cmocka_unit_test(a_state_is_once_in_a_batch),
        cmocka_unit_test(a_context_must_be_prepared_as_it_says),
        cmocka_unit_test(a_setup_says_what_has_a_meaning),
        cmocka_unit_test(a_context_is_of_one_model),
        cmocka_unit_test(inference_objects_miss_training),
        cmocka_unit_test(models_that_see_the_future_do_not_decode),
    };
    return cmocka_run_group_tests(tests, open_object, close_object);
}
