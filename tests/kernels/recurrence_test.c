/* SPDX-License-Identifier: MIT
** Recurrences, forward and backward, by chunks and token by token, at sizes that are no multiple
** of anything, with decays from none to e^-20 a token.
*/
#include "kernel_test.h"
#include "recurrence_truth.h"

static const RecurrenceSize sizes[] = {
    { 1, 1, 1, 1, 1, 1, BY_CHANNEL, 1, -1 },
    { 2, 3, 2, 1, 5, 3, BY_CHANNEL, 1, -2 },
    { 1, 16, 1, 1, 16, 16, BY_CHANNEL, 1, -1 },
    { 2, 17, 2, 2, 8, 20, NONE, 0, 0 },
    { 1, 64, 4, 2, 32, 16, NONE, 1, 0 },
    { 3, 65, 1, 1, 20, 33, BY_HEAD, 0, -1 },
    { 1, 130, 2, 2, 24, 24, BY_HEAD, 1, -3 },
    { 2, 128, 3, 1, 16, 48, BY_CHANNEL, 0, -1 },
    { 1, 200, 2, 1, 33, 17, BY_CHANNEL, 1, -0.1f },
    { 1, 300, 1, 1, 64, 64, BY_CHANNEL, 1, -1 },
    { 1, 193, 1, 1, 128, 128, BY_CHANNEL, 1, -2 },
    { 2, 90, 2, 2, 7, 130, NONE, 1, 0 },
    { 1, 150, 2, 2, 16, 16, BY_CHANNEL, 1, -20 },
    { 1, 150, 2, 1, 20, 16, BY_HEAD, 1, -20 },
    { 1, 140, 2, 2, 40, 8, BY_CHANNEL, 0, -20 },
    { 2, 70, 2, 2, 16, 24, BY_HEAD, 0, -200 },
    { 1, 100, 1, 1, 48, 16, BY_CHANNEL, 1, -300 },
    /* heads of few numbers, of which some are side by side, and some share queries */
    { 2, 33, 67, 67, 1, 1, BY_HEAD, 0, -1 },
    { 1, 50, 130, 130, 1, 1, BY_CHANNEL, 1, -0.5f },
    { 2, 40, 37, 1, 16, 1, BY_CHANNEL, 0, -1 },
    { 1, 35, 200, 2, 16, 1, BY_CHANNEL, 1, -2 },
    { 2, 31, 21, 7, 3, 2, BY_CHANNEL, 1, -1 },
    { 1, 66, 18, 6, 2, 2, BY_HEAD, 1, -20 },
    { 1, 70, 5, 5, 32, 1, BY_CHANNEL, 0, -1 },
    { 1, 70, 40, 2, 1, 32, NONE, 1, 0 },
    { 1, 47, 19, 19, 5, 6, BY_HEAD, 1, -300 },
    { 3, 20, 3, 3, 17, 1, NONE, 0, 0 },
    { 1, 90, 34, 2, 4, 4, BY_CHANNEL, 1, -0.1f },
    /* the same of one value, whose channels are whole vectors */
    { 2, 39, 75, 1, 16, 1, BY_HEAD, 0, -1 },
    { 1, 100, 66, 2, 32, 1, BY_CHANNEL, 0, -20 },
    { 2, 50, 90, 3, 16, 1, NONE, 0, 0 },
    { 1, 70, 33, 3, 8, 1, BY_CHANNEL, 0, -300 },
    { 1, 45, 64, 4, 24, 1, BY_CHANNEL, 0, -0.1f },
    { 2, 32, 8, 1, 4, 1, BY_HEAD, 0, -2 },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void forward_is_right(void **state) {
    (void)state;
    double worst = 0;
    for (int i = 0; i < 2 * SIZES; i++) {
        RecurrenceProblem p = recurrence_new(sizes[i / 2], 100 + (uint64_t)i,
                                             i % 2 ? AFTER : BEFORE);
        recurrence_forward(&p);
        RecurrenceTruth t = recurrence_truth(&p, 0);
        double error = truth_distance(&t, O);
        worst = fmax(worst, error);
        if (!(error < 1e-5)) fail_msg("size %d: off by %g of the largest", i / 2, error);
        truth_free(&t);
        recurrence_free(&p);
    }
    printf("forward: worst relative distance %.2g\n", worst);
}

static void backward_is_right(void **state) {
    (void)state;
    static const char *const name[] = { "dq", "dk", "dv", "ddecay", "dbeta" };
    double worst[5] = { 0 };
    for (int i = 0; i < 2 * SIZES; i++) {
        RecurrenceProblem p = recurrence_new(sizes[i / 2], 200 + (uint64_t)i,
                                             i % 2 ? AFTER : BEFORE);
        recurrence_backward(&p);
        RecurrenceTruth t = recurrence_truth(&p, 1);
        for (int k = 0; k < 5; k++) {
            double error = truth_distance(&t, DQ + k);
            worst[k] = fmax(worst[k], error);
            if (!(error < 2e-5)) fail_msg("size %d: %s is off by %g", i / 2, name[k], error);
        }
        truth_free(&t);
        recurrence_free(&p);
    }
    for (int k = 0; k < 5; k++)
        printf("%s: worst relative distance %.2g\n", name[k], worst[k]);
}

/* Rows first ... first + count - 1 of the only sequence, from and to the state. */
static void run_part(const RecurrenceProblem *p, int64_t first, int64_t count, float *state) {
    RecurrenceProblem part = *p;
    Recurrence *a = &part.a;
    int64_t rows[] = { first, first + count };
    a->first = rows;
    a->time = count;
    a->states = (void *const[]){ state };
    recurrence_forward(&part);
}

static void all_are_right(const RecurrenceTruth *t, int last, const char *how) {
    for (int k = O; k <= last; k++)
        if (!(truth_distance(t, k) < 1e-4))
            fail_msg("%s: matrix %d is off by %g", how, k, truth_distance(t, k));
}

/* Channels that never decay beside some that do by e^-20 at every token: by chunks and token by
** token. */
static void decays_of_every_size_over_many_tokens(void **state) {
    (void)state;
    RecurrenceSize s = { 1, 8192, 1, 1, 16, 16, BY_CHANNEL, 1, -1 };
    RecurrenceProblem p = recurrence_new(s, 300, AFTER);
    float S[16 * 16] = { 0 };
    guard_writable(p.at[G]);
    for (int64_t t = 0; t < s.time; t++)
        for (int c = 0; c < s.dk; c++)
            p.at[G].at[t * p.a.lddecay + c] *= c == 0 ? 0 : c < 6 ? 1e-3f : c < 11 ? 1 : 20;
    recurrence_forward(&p);
    recurrence_backward(&p);
    RecurrenceTruth t = recurrence_truth(&p, 1);
    all_are_right(&t, DB, "by chunks");
    for (int64_t i = 0; i < s.time; i++)
        run_part(&p, i, 1, S);
    all_are_right(&t, O, "token by token");
    truth_free(&t);
    recurrence_free(&p);
}

static void parts_equal_the_whole(void **state) {
    (void)state;
    for (int i = 0; i < SIZES; i++) {
        RecurrenceSize s = sizes[i];
        s.sequences = 1, s.time = 150;
        RecurrenceProblem p = recurrence_new(s, 400, AFTER);
        float *S = calloc((size_t)(s.heads * s.dk * s.dv), sizeof *S);
        int64_t parts[] = { 1, 3, 70, 5, 1, 1, 1, 64, 4 };
        for (int64_t k = 0, at = 0; k < 9; at += parts[k++])
            run_part(&p, at, parts[k], S);
        RecurrenceTruth t = recurrence_truth(&p, 0);
        double error = truth_distance(&t, O);
        if (!(error < 1e-5)) fail_msg("size %d: off by %g", i, error);
        truth_free(&t);
        free(S);
        recurrence_free(&p);
    }
}

static void same_rows(const RecurrenceProblem *x, int64_t rowx, const RecurrenceProblem *y,
                      int64_t rowy, int64_t rows, int which) {
    int64_t ld = x->columns[which] + RECURRENCE_GAP;
    for (int64_t i = 0; i < rows; i++)
        assert_memory_equal(x->at[which].at + (rowx + i) * ld, y->at[which].at + (rowy + i) * ld,
                            (size_t)x->columns[which] * sizeof(float));
}

static void batch_does_not_change_bits(void **state) {
    (void)state;
    for (int i = 0; i < SIZES; i++) {
        RecurrenceSize s = sizes[i];
        s.sequences = 3;
        RecurrenceProblem all = recurrence_new(s, 500, AFTER);
        recurrence_forward(&all);
        recurrence_backward(&all);
        s.sequences = 1;
        RecurrenceProblem one = recurrence_new(s, 1, AFTER);
        for (int k = 0; k < OPERANDS; k++) {
            int64_t ld = one.columns[k] + RECURRENCE_GAP;
            guard_writable(one.at[k]);
            for (int64_t t = 0; t < s.time; t++)
                memcpy(one.at[k].at + t * ld, all.at[k].at + (s.time + t) * ld,
                       (size_t)one.columns[k] * sizeof(float));
        }
        recurrence_forward(&one);
        recurrence_backward(&one);
        for (int k = O; k <= DB; k++)
            same_rows(&all, s.time, &one, 0, s.time, k);
        recurrence_free(&all);
        recurrence_free(&one);
    }
}

/* Sequences of a list may have no rows, or few. */
static void lists_have_sequences_of_any_length(void **state) {
    (void)state;
    RecurrenceSize s = { 1, 100, 2, 1, 20, 16, BY_CHANNEL, 1, -1 };
    int64_t first[] = { 0, 0, 70, 71, 71, 100 };
    RecurrenceProblem some = recurrence_new(s, 600, AFTER);
    some.a.first = first, some.a.sequences = 5, some.a.time = 70;
    recurrence_forward(&some);
    recurrence_backward(&some);
    for (int b = 0; b < 5; b++) {
        RecurrenceProblem one = recurrence_new(s, 600, AFTER);
        one.a.first = first + b;
        recurrence_forward(&one);
        recurrence_backward(&one);
        for (int k = O; k <= DB; k++)
            same_rows(&some, first[b], &one, first[b], first[b + 1] - first[b], k);
        recurrence_free(&one);
    }
    recurrence_free(&some);
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_right),
        cmocka_unit_test(backward_is_right),
        cmocka_unit_test(decays_of_every_size_over_many_tokens),
        cmocka_unit_test(parts_equal_the_whole),
        cmocka_unit_test(batch_does_not_change_bits),
        cmocka_unit_test(lists_have_sequences_of_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
