/* SPDX-License-Identifier: MIT
** Sampling, and the schedules of the learning rate.
*/
#include "test.h"

#include <math.h>

#include "sample.h"
#include "schedule.h"

enum { IDS = 6, DRAWS = 20000 };
static const float logits[IDS] = { 1.0f, 3.0f, -2.0f, 3.0f, 0.5f, 2.0f };

static Sampler sampler(double temperature, int64_t top_k, double top_p) {
    Sampler s = { .how = {
                      .temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = 7 } };
    assert_int_equal(sampler_open(&s, IDS, NULL), 0);
    return s;
}

static void draw(Sampler *s, double share[IDS]) {
    for (int i = 0; i < IDS; i++)
        share[i] = 0;
    for (int i = 0; i < DRAWS; i++) {
        int32_t id = sampler_next(s, logits, i);
        assert_in_range(id, 0, IDS - 1);
        share[id] += 1.0 / DRAWS;
    }
    sampler_close(s);
}

static void greedy(void **state) {
    (void)state;
    Sampler s = sampler(0, 0, 1);
    assert_int_equal(sampler_next(&s, logits, 0), 1); /* of equals the smaller id */
    sampler_close(&s);
    s = sampler(1, 1, 1);
    assert_int_equal(sampler_next(&s, logits, 0), 1);
    sampler_close(&s);
    s = sampler(1, 0, 0);
    for (int i = 0; i < 50; i++)
        assert_int_equal(sampler_next(&s, logits, i), 1);
    sampler_close(&s);
}

/* Frequencies against the softmax over the ids that may be drawn. */
static void check(Sampler s, const int *allowed) {
    double share[IDS], p[IDS], total = 0, t = s.how.temperature;
    draw(&s, share);
    for (int i = 0; i < IDS; i++) {
        p[i] = allowed[i] ? exp(logits[i] / t) : 0;
        total += p[i];
    }
    for (int i = 0; i < IDS; i++) {
        if (!allowed[i]) assert_true(share[i] == 0);
        assert_true(fabs(share[i] - p[i] / total) < 0.02);
    }
}

static void distributions(void **state) {
    (void)state;
    check(sampler(1, 0, 1), (int[]){ 1, 1, 1, 1, 1, 1 });
    check(sampler(2.5, 0, 1), (int[]){ 1, 1, 1, 1, 1, 1 });
    check(sampler(1, 3, 1), (int[]){ 0, 1, 0, 1, 0, 1 });
    check(sampler(1, 100, 1), (int[]){ 1, 1, 1, 1, 1, 1 });
    /* masses: 0.373 0.373 0.137 0.050 0.031 0.003 of the whole */
    check(sampler(1, 0, 0.7), (int[]){ 0, 1, 0, 1, 0, 0 });
    check(sampler(1, 0, 0.8), (int[]){ 0, 1, 0, 1, 0, 1 });
    /* top-k first: of three, the two likeliest hold 0.845 */
    check(sampler(1, 3, 0.84), (int[]){ 0, 1, 0, 1, 0, 0 });
    check(sampler(1, 3, 0.86), (int[]){ 0, 1, 0, 1, 0, 1 });
}

static void same_seed_same_text(void **state) {
    (void)state;
    Sampler a = sampler(1, 0, 1), b = sampler(1, 0, 1), c = sampler(1, 0, 1);
    int different = 0;
    c.how.seed = 8;
    for (int i = 0; i < 100; i++) {
        int32_t id = sampler_next(&a, logits, i);
        assert_int_equal(id, sampler_next(&b, logits, i));
        different += id != sampler_next(&c, logits, i);
    }
    assert_true(different > 10);
    sampler_close(&a);
    sampler_close(&b);
    sampler_close(&c);
}

static void not_finite(void **state) {
    (void)state;
    float bad[IDS] = { 0, 0, 0, NAN, 0, 0 };
    Sampler s = sampler(1, 0, 1);
    assert_int_equal(sampler_next(&s, bad, 0), -1);
    bad[3] = INFINITY;
    assert_int_equal(sampler_next(&s, bad, 0), -1);
    sampler_close(&s);
}

/* Logits far apart and a tiny temperature neither overflow nor give nothing. */
static void extremes(void **state) {
    (void)state;
    const float far[IDS] = { -3e38f, 3e38f, 0, 0, 0, 0 };
    Sampler s = sampler(1e-6, 0, 0.999);
    assert_int_equal(sampler_next(&s, far, 0), 1);
    sampler_close(&s);
}

static void near(double a, double b) { assert_true(fabs(a - b) < 1e-12); }

static void schedules(void **state) {
    (void)state;
    Checkpoint s = { .schedule = SCHEDULE_CONSTANT,
                     .lr = 1,
                     .min_lr = 0.1,
                     .warmup = 0.1,
                     .decay = 0.2,
                     .steps = 100 };
    near(schedule_rate(&s, 1), 1);
    near(schedule_rate(&s, 100), 1);
    s.schedule = SCHEDULE_COSINE;
    near(schedule_rate(&s, 1), 0.1);
    near(schedule_rate(&s, 10), 1);
    near(schedule_rate(&s, 55), 0.55);
    near(schedule_rate(&s, 100), 0.1);
    s.schedule = SCHEDULE_WSD;
    near(schedule_rate(&s, 5), 0.5);
    near(schedule_rate(&s, 11), 1);
    near(schedule_rate(&s, 80), 1);
    near(schedule_rate(&s, 90), 0.55);
    near(schedule_rate(&s, 100), 0.1);
    s.warmup = 1; /* nothing but warm-up */
    near(schedule_rate(&s, 100), 1);
    s.warmup = 0, s.decay = 0;
    near(schedule_rate(&s, 100), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy),
        cmocka_unit_test(distributions),
        cmocka_unit_test(same_seed_same_text),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(extremes),
        cmocka_unit_test(schedules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
