/* SPDX-License-Identifier: MIT
** Recurrences whose decays are products of a head's number and of rates of its channels, against
** those that have the products in memory: the same bits, and gradients of the factors that are
** sums of those of products.
*/
#include "kernel_test.h"
#include "recurrence_truth.h"

/* By chunks, by lanes and by channels; more sequences than sums, and fewer. */
static const RecurrenceSize sizes[] = {
    { 2, 70, 2, 1, 5, 3, BY_CHANNEL, 1, -2 },     { 1, 130, 3, 1, 16, 48, BY_CHANNEL, 0, -1 },
    { 4, 33, 2, 2, 40, 8, BY_CHANNEL, 0, -20 },   { 5, 20, 1, 1, 20, 16, BY_CHANNEL, 1, -1 },
    { 2, 31, 21, 7, 3, 2, BY_CHANNEL, 1, -1 },    { 1, 35, 200, 2, 16, 1, BY_CHANNEL, 1, -2 },
    { 7, 18, 34, 2, 4, 4, BY_CHANNEL, 1, -0.1f }, { 2, 40, 37, 1, 16, 1, BY_CHANNEL, 0, -1 },
    { 5, 50, 66, 2, 32, 1, BY_CHANNEL, 0, -20 },  { 1, 70, 33, 3, 8, 1, BY_CHANNEL, 0, -300 },
    { 1, 45, 64, 4, 24, 1, BY_CHANNEL, 0, -1 },   { 4, 32, 8, 1, 4, 1, BY_CHANNEL, 0, -2 },
};
enum { SIZES = sizeof sizes / sizeof *sizes, SUMS = 3 };

/* The problem whose decays are products, the one that has their factors, and these. */
typedef struct Pair {
    RecurrenceProblem plain, rated;
    Guarded token, rate, dtoken, drate;
} Pair;

static void set_factors(Pair *p, uint64_t seed) {
    RecurrenceSize s = p->plain.size;
    int64_t rows = s.sequences * s.time, rates = (int64_t)s.heads * s.dk;
    Draw d = { seed };
    p->token = guard_matrix(rows, s.heads, s.heads, AFTER);
    p->dtoken = guard_matrix(rows, s.heads, s.heads, AFTER);
    p->rate = guard_matrix(1, rates, rates, AFTER);
    p->drate = guard_matrix(SUMS, rates, rates, AFTER);
    for (int64_t i = 0; i < rows * s.heads; i++)
        p->token.at[i] = s.least * (draw_real(&d) + 1) / 2, p->dtoken.at[i] = NAN;
    for (int64_t i = 0; i < rates; i++)
        p->rate.at[i] = (draw_real(&d) + 1) / 2;
    for (int64_t i = 0; i < SUMS * rates; i++)
        p->drate.at[i] = NAN;
    guard_writable(p->plain.at[G]);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < rates; i++)
            p->plain.at[G].at[row * p->plain.a.lddecay + i] = p->token.at[row * s.heads + i / s.dk]
                * p->rate.at[i];
    guard_readonly(p->token), guard_readonly(p->rate);
}

static Pair pair_new(RecurrenceSize s, uint64_t seed) {
    Pair p = { .plain = recurrence_new(s, seed, AFTER), .rated = recurrence_new(s, seed, AFTER) };
    set_factors(&p, seed + 1);
    Recurrence *a = &p.rated.a;
    a->decay = p.token.at, a->lddecay = s.heads;
    a->ddecay = p.dtoken.at, a->ldddecay = s.heads;
    a->rate = p.rate.at, a->drate = p.drate.at, a->sums = SUMS;
    return p;
}

static void pair_free(Pair *p) {
    Guarded *own[] = { &p->token, &p->rate, &p->dtoken, &p->drate };
    for (int i = 0; i < 4; i++)
        guard_free(*own[i]);
    recurrence_free(&p->plain);
    recurrence_free(&p->rated);
}

static void same_bits(const Pair *p, int which) {
    int64_t n = p->plain.columns[which], ld = n + RECURRENCE_GAP,
            rows = p->plain.size.sequences * p->plain.size.time;
    for (int64_t i = 0; i < rows; i++)
        assert_memory_equal(p->plain.at[which].at + i * ld, p->rated.at[which].at + i * ld,
                            (size_t)n * sizeof(float));
}

/* 'got' is a sum of terms; 'size' the sum of what they are without their signs. */
static void near(int i, const char *what, double got, double sum, double size) {
    if (!(fabs(got - sum) <= 1e-6 * size + 1e-12))
        fail_msg("size %d: %s is %g, not %g", i, what, got, sum);
}

static const float *plain_gradient(const Pair *p, int64_t row) {
    return p->plain.at[DG].at + row * (p->plain.columns[DG] + RECURRENCE_GAP);
}

static void tokens_are_right(int at, const Pair *p) {
    RecurrenceSize s = p->plain.size;
    for (int64_t row = 0; row < s.sequences * s.time; row++)
        for (int h = 0; h < s.heads; h++) {
            double sum = 0, size = 0;
            for (int c = 0; c < s.dk; c++) {
                double x = (double)plain_gradient(p, row)[h * s.dk + c] * p->rate.at[h * s.dk + c];
                sum += x, size += fabs(x);
            }
            near(at, "dtoken", p->dtoken.at[row * s.heads + h], sum, size);
        }
}

static void rates_are_right(int at, const Pair *p) {
    RecurrenceSize s = p->plain.size;
    int64_t rates = (int64_t)s.heads * s.dk;
    for (int64_t i = 0; i < SUMS * rates; i++) {
        double sum = 0, size = 0;
        for (int64_t b = i / rates; b < s.sequences; b += SUMS)
            for (int64_t row = b * s.time; row < (b + 1) * s.time; row++) {
                double x = (double)plain_gradient(p, row)[i % rates]
                    * p->token.at[row * s.heads + i % rates / s.dk];
                sum += x, size += fabs(x);
            }
        near(at, "drate", p->drate.at[i], sum, size * 4);
    }
}

static void factors_equal_their_product(void **state) {
    (void)state;
    for (int i = 0; i < SIZES; i++) {
        Pair p = pair_new(sizes[i], 700 + (uint64_t)i);
        recurrence_forward(&p.plain), recurrence_forward(&p.rated);
        recurrence_backward(&p.plain), recurrence_backward(&p.rated);
        for (int k = O; k <= DV; k++)
            same_bits(&p, k);
        if (sizes[i].delta) same_bits(&p, DB);
        tokens_are_right(i, &p);
        rates_are_right(i, &p);
        pair_free(&p);
    }
}

/* A token at a time, and a few, from a state and back to it. */
static void states_are_the_same(void **state) {
    (void)state;
    static const int64_t parts[] = { 1, 3, 7, 1, 5, 1 };
    for (int i = 0; i < SIZES; i++) {
        RecurrenceSize s = sizes[i];
        s.sequences = 1, s.time = 18;
        Pair p = pair_new(s, 800 + (uint64_t)i);
        size_t size = (size_t)(s.heads * s.dk * s.dv) * sizeof(float);
        RecurrenceProblem *two[] = { &p.plain, &p.rated };
        float *S[] = { calloc(1, size), calloc(1, size) };
        for (int which = 0; which < 2; which++)
            for (int64_t k = 0, at = 0; k < 6; at += parts[k++]) {
                RecurrenceProblem part = *two[which];
                int64_t rows[] = { at, at + parts[k] };
                part.a.first = rows, part.a.time = parts[k];
                part.a.states = (void *const[]){ S[which] };
                recurrence_forward(&part);
            }
        same_bits(&p, O);
        assert_memory_equal(S[0], S[1], size);
        free(S[0]), free(S[1]);
        pair_free(&p);
    }
}

/* Sums of sequences without rows are 0. */
static void sequences_may_have_no_rows(void **state) {
    (void)state;
    for (int i = 0; i < SIZES; i++) {
        RecurrenceSize s = sizes[i];
        s.sequences = 1;
        Pair p = pair_new(s, 900 + (uint64_t)i);
        int64_t first[] = { 0, 0, s.time }, rates = (int64_t)s.heads * s.dk;
        p.rated.a.first = first, p.rated.a.sequences = 2;
        recurrence_backward(&p.rated);
        for (int64_t k = 0; k < SUMS * rates; k++)
            if (k / rates != 1) assert_true(p.drate.at[k] == 0);
            else assert_false(isnan(p.drate.at[k]));
        pair_free(&p);
    }
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_equal_their_product),
        cmocka_unit_test(states_are_the_same),
        cmocka_unit_test(sequences_may_have_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
