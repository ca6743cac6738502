/* SPDX-License-Identifier: MIT
** Sums of a step's micro-batches, whatever ranges they are told of: all of it, pieces, nothing; and
** a reducer that fails.
*/
#include "test.h"

#include <string.h>

#include "mock_model.h"
#include "ranks.h"
#include "step_sums.h"

enum { LEAVES = 6 };

static Session session;

static int open_session(void **state) {
    (void)state;
    Error e = { 0 };
    const MockOptions o = { .tokenizer = "bytes", .vocab = 150, .context = 16, .batch = 4 };
    assert_int_equal(session_open(&session, mock_api(&o), NULL, 2, &e), 0);
    assert_int_equal(session_train(&session, &e), 0);
    return 0;
}

static int close_session(void **state) {
    (void)state;
    session_close(&session);
    return 0;
}

static float value(int64_t leaf, int64_t k) {
    return (float)(k % 1013) * 0.1f + 1e5f / (float)(leaf + 1);
}

/* What forward_backward does: writes, then tells of 'told' numbers in pieces of 'piece'. */
static void compute(StepSums *x, int64_t leaf, int64_t told, int64_t piece) {
    float *g = session.train.at;
    strata_range_fn final = step_sums_final(x);
    for (int64_t k = 0; k < session.m->gradients; k++)
        g[k] = value(leaf, k);
    for (int64_t at = 0; final && at < told; at += piece)
        if (final(x, at, at + piece < told ? piece : told - at)) return;
}

static void sums_do_not_depend_on_ranges(void **state) {
    (void)state;
    int64_t n = session.m->gradients;
    const int64_t told[][2] = { { n, n }, { n, 1000 }, { 0, 1 }, { n / 2, n }, { n - 1, 8192 } };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        StepSums x;
        Error e = { 0 };
        assert_int_equal(step_sums_open(&x, &session, NULL, LEAVES, &e), 0);
        size_t bytes = 0;
        for (int k = 0; k < STEP_PARTS; k++)
            bytes += x.aside[k].bytes;
        assert_true(bytes == (size_t)step_sums_bytes(session.m, LEAVES, NULL));
        for (int steps = 0; steps < 2; steps++)
            for (int64_t leaf = 0; leaf < LEAVES; leaf++) {
                assert_int_equal(step_sums_begin(&x, leaf, &e), 0);
                compute(&x, leaf, told[i][0], told[i][1]);
                assert_int_equal(step_sums_end(&x, &e), 0);
            }
        const float *g = session.train.at;
        for (int64_t k = 0; k < n; k++)
            assert_true(g[k]
                        == ((value(0, k) + value(1, k)) + (value(2, k) + value(3, k)))
                            + (value(4, k) + value(5, k)));
        step_sums_close(&x);
    }
}

static void one_micro_batch_needs_nothing(void **state) {
    (void)state;
    StepSums x;
    Error e = { 0 };
    assert_int_equal(step_sums_open(&x, &session, NULL, 1, &e), 0);
    assert_null(step_sums_final(&x));
    assert_int_equal(step_sums_bytes(session.m, 1, NULL), 0);
    assert_int_equal(step_sums_begin(&x, 0, &e), 0);
    compute(&x, 0, 0, 1);
    assert_int_equal(step_sums_end(&x, &e), 0);
    assert_true(((float *)session.train.at)[7] == value(0, 7));
    step_sums_close(&x);
}

/* == A reducer that fails ================================================= */

static int64_t ranges_left;

static int32_t begin(void *user, const strata_step *step) {
    (void)user;
    return step->parts == 2 && step->part[1].at == session.train.at && step->sum == session.train.at
        ? 0
        : 5;
}
static int32_t range(void *user, int64_t first, int64_t count) {
    (void)user, (void)first, (void)count;
    return ranges_left-- > 0 ? 0 : 4;
}
static int32_t end(void *user) {
    (void)user;
    return 0;
}
static int32_t sum(void *user, double *x, int64_t count) {
    (void)user, (void)x, (void)count;
    return 0;
}
static void leave(void *user, int32_t status) { (void)user, (void)status; }
static const char *message(void *user) {
    (void)user;
    return "the line is dead";
}

static void a_failure_is_told(void **state) {
    (void)state;
    const strata_reducer r = { .struct_size = sizeof r,
                               .rank = 1,
                               .ranks = 2,
                               .begin = begin,
                               .range = range,
                               .end = end,
                               .sum = sum,
                               .leave = leave,
                               .message = message };
    const strata_services s = { .struct_size = sizeof s, .reducer = &r };
    for (int good = 0; good < 3; good++) {
        StepSums x;
        Error e = { 0 };
        int status = 0;
        ranges_left = good;
        assert_int_equal(services_check(&s, &e), 0);
        /* of five micro-batches the last two: [3, 4) and [4, 5) are no node together */
        assert_int_equal(step_sums_open(&x, &session, &r, 5, &e), 0);
        assert_true(x.first == 3 && x.count == 2);
        for (int64_t leaf = 3; !status && leaf < 5; leaf++) {
            assert_int_equal(step_sums_begin(&x, leaf, &e), 0);
            compute(&x, leaf, session.m->gradients / 2, session.m->gradients);
            status = step_sums_end(&x, &e);
        }
        assert_int_equal(status, good < 2 ? STATUS_IO : STATUS_OK);
        if (good < 2) assert_string_equal(e.text, "rank 1 of 2: range: the line is dead");
        step_sums_close(&x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_do_not_depend_on_ranges),
        cmocka_unit_test(one_micro_batch_needs_nothing),
        cmocka_unit_test(a_failure_is_told),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
