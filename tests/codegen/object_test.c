/* SPDX-License-Identifier: MIT
** A compiled model as an object that programs call: same bits for any number
** of workers and neighbours, gradients that add up and say when they are
** final, updates of ranges, and a status with a message for whatever is wrong.
*/
#include "test.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

static void same_bits(const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof *a))
            fail_msg("element %lld is %.9g and %.9g", (long long)i, a[i], b[i]);
}

static float *gradients(Instance *r, strata_loss *loss) {
    return gradients_of(r, object.tokens, object.targets, BATCH, TIME, loss);
}

/* == Same bits ============================================================ */

static void update_all(Instance *r, int64_t step) {
    strata_adamw how = instance_adamw(0.5, step);
    guarded_writable(&r->weights, true);
    memset((float *)r->train.at + gradient_floats(r->c), 0, r->train.size / 3 * 2);
    assert_int_equal(
        r->c->api.update(r->ctx.at, r->weights.at, r->train.at, 0, gradient_floats(r->c), &how),
        STRATA_OK);
    guarded_writable(&r->weights, false);
}

static void any_number_of_workers_gives_the_same_bits(void **state) {
    (void)state;
    float *logits = logits_of(&object.r, object.tokens, BATCH, TIME);
    float *want = gradients(&object.r, NULL);
    int64_t n = gradient_floats(&object.b.c);
    double squares, more;
    for (int workers = 1; workers <= 3; workers++) {
        Instance r, one;
        instance_open(&r, &object.b.c, TOKENS, workers),
            instance_open(&one, &object.b.c, TOKENS, 1);
        instance_fill(&r, 1), instance_fill(&one, 1);
        float *p = logits_of(&r, object.tokens, BATCH, TIME), *g = gradients(&r, NULL);
        free(gradients(&one, NULL));
        same_bits(p, logits, (int64_t)TOKENS * VOCAB);
        same_bits(g, want, n);
        assert_int_equal(r.c->api.sum_squares(r.ctx.at, r.train.at, 3, n - 5, &squares), STRATA_OK);
        assert_int_equal(one.c->api.sum_squares(one.ctx.at, one.train.at, 3, n - 5, &more),
                         STRATA_OK);
        assert_memory_equal(&squares, &more, sizeof more);
        update_all(&r, 3), update_all(&one, 3);
        same_bits(r.weights.at, one.weights.at, object.b.c.model->weights_bytes / 4);
        free(p), free(g);
        instance_close(&r), instance_close(&one);
    }
    free(logits), free(want);
}

/* Rows of a sequence lie elsewhere in their tiles when others come before it. */
static void a_sequence_alone_equals_itself_in_a_batch(void **state) {
    (void)state;
    float *all = logits_of(&object.r, object.tokens, BATCH, TIME), nll[TOKENS], own[TIME];
    const strata_api *a = &object.b.c.api;
    assert_int_equal(a->loss(object.r.ctx.at, object.r.weights.at, object.r.arena.at, object.tokens,
                             object.targets, BATCH, TIME, nll, NULL),
                     STRATA_OK);
    for (int b = 0; b < BATCH; b++) {
        float *p = logits_of(&object.r, object.tokens + b * TIME, 1, TIME);
        same_bits(p, all + (int64_t)b * TIME * VOCAB, (int64_t)TIME * VOCAB);
        free(p);
        assert_int_equal(a->loss(object.r.ctx.at, object.r.weights.at, object.r.arena.at,
                                 object.tokens + b * TIME, object.targets + b * TIME, 1, TIME, own,
                                 NULL),
                         STRATA_OK);
        same_bits(own, nll + b * TIME, TIME);
    }
    free(all);
}

/* And a prefix of it equals the start of the whole: nothing sees the future. */
static void a_prefix_has_the_bits_of_the_whole(void **state) {
    (void)state;
    float *all = logits_of(&object.r, object.tokens, 1, TIME);
    for (int64_t n = 1; n < TIME; n += 17) {
        float *p = logits_of(&object.r, object.tokens, 1, n);
        same_bits(p, all, n * VOCAB);
        free(p);
    }
    free(all);
}

static void the_callers_floating_point_mode_changes_nothing(void **state) {
    (void)state;
    float *want = gradients(&object.r, NULL),
          *logits = logits_of(&object.r, object.tokens, 1, TIME);
    double squares, again;
    assert_int_equal(object.b.c.api.sum_squares(object.r.ctx.at, object.r.train.at, 0,
                                                gradient_floats(&object.b.c), &squares),
                     STRATA_OK);
    Instance r;
    fesetround(FE_UPWARD);
    instance_open(&r, &object.b.c, TOKENS, 1);
    fesetround(FE_TONEAREST);
    instance_fill(&r, 1);
    fesetround(FE_UPWARD);
    float *g = gradients(&r, NULL), *p = logits_of(&r, object.tokens, 1, TIME);
    int status = object.b.c.api.sum_squares(r.ctx.at, r.train.at, 0, gradient_floats(&object.b.c),
                                            &again);
    update_all(&r, 1);
    int mode = fegetround();
    fesetround(FE_TONEAREST);
    Instance q;
    instance_open(&q, &object.b.c, TOKENS, 1);
    instance_fill(&q, 1);
    free(gradients(&q, NULL));
    update_all(&q, 1);
    assert_int_equal(status, STRATA_OK);
    assert_int_equal(mode, FE_UPWARD);
    same_bits(g, want, gradient_floats(&object.b.c));
    same_bits(p, logits, (int64_t)TIME * VOCAB);
    assert_memory_equal(&squares, &again, sizeof again);
    same_bits(r.weights.at, q.weights.at, object.b.c.model->weights_bytes / 4);
    free(g), free(p), free(want), free(logits);
    instance_close(&r), instance_close(&q);
}

/* == Gradients ============================================================ */

static void accumulating_adds(void **state) {
    (void)state;
    const strata_api *a = &object.b.c.api;
    Instance *r = &object.r;
    int64_t n = gradient_floats(&object.b.c);
    float *sum = calloc((size_t)n, sizeof *sum), *last;
    for (int b = 0; b < BATCH; b++) {
        last = gradients_of(r, object.tokens + b * TIME, object.targets + b * TIME, 1, TIME, NULL);
        for (int64_t i = 0; i < n; i++)
            sum[i] += last[i] / BATCH;
        free(last);
    }
    for (int b = 0; b < BATCH; b++)
        assert_int_equal(a->forward_backward(r->ctx.at, r->weights.at, r->train.at, r->arena.at,
                                             object.tokens + b * TIME, object.targets + b * TIME, 1,
                                             TIME, 1.0f / BATCH, b ? STRATA_ACCUMULATE : 0, NULL,
                                             NULL, NULL),
                         STRATA_OK);
    assert_true(difference(r->train.at, sum, n) < 1e-5);
    float *whole = gradients(r, NULL);
    assert_true(difference(whole, sum, n) < 1e-5);
    free(sum), free(whole);
}

static void scale_is_a_factor(void **state) {
    (void)state;
    Instance *r = &object.r;
    float *one = gradients(r, NULL);
    int64_t n = gradient_floats(r->c);
    strata_loss loss = { .struct_size = sizeof loss }, same = loss;
    free(gradients(r, &loss));
    assert_int_equal(r->c->api.forward_backward(r->ctx.at, r->weights.at, r->train.at, r->arena.at,
                                                object.tokens, object.targets, BATCH, TIME, 0.25f,
                                                0, NULL, NULL, &same),
                     STRATA_OK);
    for (int64_t i = 0; i < n; i++)
        one[i] *= 0.25f;
    same_bits(r->train.at, one, n); /* a power of two */
    assert_true(loss.loss == same.loss && loss.loss == loss.cross_entropy && loss.loss > 1);
    free(one);
}

/* What the callback was told, and the gradients as they were then. */
typedef struct Final {
    const Instance *r;
    float *seen;
    int64_t at;
    int calls, stop_after;
} Final;

static int32_t take_final(void *user, int64_t first, int64_t count) {
    Final *f = user;
    if (first != f->at || count < 1) return 2;
    memcpy(f->seen + first, (const float *)f->r->train.at + first, (size_t)count * sizeof *f->seen);
    f->at = first + count;
    return ++f->calls == f->stop_after;
}

static int32_t call_final(Instance *r, Final *f) {
    return r->c->api.forward_backward(r->ctx.at, r->weights.at, r->train.at, r->arena.at,
                                      object.tokens, object.targets, BATCH, TIME, 1, 0, take_final,
                                      f, NULL);
}

static void final_ranges_cover_all_gradients_once_and_are_final(void **state) {
    (void)state;
    Instance r;
    instance_open(&r, &object.b.c, TOKENS, 3);
    instance_fill(&r, 1);
    int64_t n = gradient_floats(r.c);
    Final f = { .r = &r, .seen = calloc((size_t)n, sizeof(float)) };
    assert_int_equal(call_final(&r, &f), STRATA_OK);
    assert_int_equal(f.at, n);
    assert_true(f.calls > object.b.c.model->layers);
    same_bits(f.seen, r.train.at, n);
    Final stop = { .r = &r, .seen = f.seen, .stop_after = 2 };
    assert_int_equal(call_final(&r, &stop), STRATA_ERROR_STOPPED);
    assert_int_equal(stop.calls, 2);
    free(f.seen);
    instance_close(&r);
}

/* Tensors in the order of finality: where one ends, padded, the next begins. */
static void the_tensor_table_covers_weights_and_gradients(void **state) {
    (void)state;
    const strata_model *m = object.b.c.model;
    const strata_tensor *t = strata_tensors(m);
    int64_t weight = 0, gradient = 0, parameters = 0;
    for (int i = 0; i < m->tensors; i++) {
        assert_true(t[i].weight >= weight && t[i].gradient >= gradient && t[i].weight % 16 == 0);
        weight = t[i].weight + t[i].count, gradient = t[i].gradient + t[i].count,
        parameters += t[i].count;
        assert_int_equal(t[i].decay, t[i].rank >= 2);
    }
    assert_true(weight * 4 <= m->weights_bytes && gradient <= m->gradients
                && m->gradients * 12 <= m->train_bytes);
    assert_int_equal(parameters, m->parameters);
    assert_int_equal(parameters, object.b.m->parameters);
}

/* == Updates ============================================================== */

static void copy(Guarded *to, const Guarded *from) { memcpy(to->at, from->at, from->size); }

static void updates_of_ranges_equal_one_of_all(void **state) {
    (void)state;
    Instance a, b;
    instance_open(&a, &object.b.c, TOKENS, 2), instance_open(&b, &object.b.c, TOKENS, 1);
    instance_fill(&a, 1), instance_fill(&b, 1);
    int64_t n = gradient_floats(a.c);
    strata_adamw how = { .struct_size = sizeof how,
                         .lr = 1e-2,
                         .beta1 = 0.9,
                         .beta2 = 0.95,
                         .eps = 1e-8,
                         .weight_decay = 0.1,
                         .grad_scale = 1 };
    free(gradients(&a, NULL));
    memset((float *)a.train.at + n, 0, (size_t)n * 8);
    copy(&b.train, &a.train);
    guarded_writable(&a.weights, true), guarded_writable(&b.weights, true);
    for (how.step = 1; how.step <= 3; how.step++) {
        assert_int_equal(a.c->api.update(a.ctx.at, a.weights.at, a.train.at, 0, n, &how),
                         STRATA_OK);
        for (int64_t first = 0, count; first < n; first += count) {
            count = first * 5 % 311 + 1 < n - first ? first * 5 % 311 + 1 : n - first;
            assert_int_equal(
                b.c->api.update(b.ctx.at, b.weights.at, b.train.at, first, count, &how), STRATA_OK);
        }
        same_bits(a.weights.at, b.weights.at, object.b.c.model->weights_bytes / 4);
        same_bits(a.train.at, b.train.at, 3 * n);
    }
    instance_close(&a), instance_close(&b);
}

/* AdamW of every parameter in float64, with decay for matrices only. */
static void an_update_is_adamw(void **state) {
    (void)state;
    Instance r;
    instance_open(&r, &object.b.c, TOKENS, 1);
    instance_fill(&r, 1);
    int64_t n = gradient_floats(r.c);
    float *g = gradients(&r, NULL), *before = calloc((size_t)r.weights.size, 1);
    double sum = 0, squares;
    memcpy(before, r.weights.at, r.weights.size);
    update_all(&r, 2);
    const strata_tensor *t = strata_tensors(r.c->model);
    for (int i = 0; i < r.c->model->tensors; i++)
        for (int64_t k = 0; k < t[i].count; k++) {
            double d = g[t[i].gradient + k], x = 0.5 * d, m = 0.1 * x, v = 0.05 * x * x,
                   w = before[t[i].weight + k];
            double want = w * (1 - 1e-2 * (t[i].rank >= 2 ? 0.1 : 0))
                - 1e-2 * (m / 0.19) / (sqrt(v / 0.0975) + 1e-8);
            assert_true(fabs(((float *)r.weights.at)[t[i].weight + k] - want)
                        <= 1e-6 * fmax(1, fabs(want)));
            sum += d * d;
        }
    assert_int_equal(r.c->api.sum_squares(r.ctx.at, r.train.at, 0, n, &squares), STRATA_OK);
    assert_true(fabs(squares - sum) <= 1e-12 * sum);
    free(g), free(before);
    instance_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_workers_gives_the_same_bits),
        cmocka_unit_test(a_sequence_alone_equals_itself_in_a_batch),
        cmocka_unit_test(a_prefix_has_the_bits_of_the_whole),
        cmocka_unit_test(the_callers_floating_point_mode_changes_nothing),
        cmocka_unit_test(accumulating_adds),
        cmocka_unit_test(scale_is_a_factor),
        cmocka_unit_test(final_ranges_cover_all_gradients_once_and_are_final),
        cmocka_unit_test(the_tensor_table_covers_weights_and_gradients),
        cmocka_unit_test(updates_of_ranges_equal_one_of_all),
        cmocka_unit_test(an_update_is_adamw),
    };
    return cmocka_run_group_tests(tests, open_object, close_object);
}
