/* SPDX-License-Identifier: MIT
** Which tokens a batch has: orders, permutations, shares of sources. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data_order.h"
#include "data_words.h"
#include "permutation.h"
#include "scratch.h"

/* A file of n tokens with the ids first + 1, first + 2, … to 255, then 1: no text has a NUL. */
static void write_counted(void **state, const char *name, int first, int n) {
    char path[SCRATCH_PATH], *bytes = malloc((size_t)n);
    assert_non_null(bytes);
    for (int i = 0; i < n; i++)
        bytes[i] = (char)(1 + (first + i) % 255);
    scratch_write(scratch_path(state, name, path), bytes, (size_t)n);
    free(bytes);
}

static void counted(void **state, Data *d, int n) {
    write_counted(state, "counted", 0, n);
    assert_int_equal(data_of(d, state, "@/counted", NULL, false, NULL), 0);
}

static int64_t start(const Data *d, const DataOrder *o, int64_t step, int64_t row) {
    return data_place(d, o, step, row).start;
}

static void sequential_windows(void **state) {
    Data d;
    counted(state, &d, 50); /* contexts of 8: (50 - 1) / 8 = 6 windows, two tokens never seen */
    DataOrder o = { .kind = ORDER_SEQUENTIAL, .context = 8, .rows = 4 };
    static const int64_t starts[12] = { 0, 8, 16, 24, 32, 40, 0, 8, 16, 24, 32, 40 };
    for (int step = 0; step < 3; step++)
        for (int row = 0; row < 4; row++)
            assert_int_equal(start(&d, &o, step, row), starts[4 * step + row]);
    int32_t tokens[32], targets[32];
    assert_int_equal(data_rows(&d, &o, 1, 0, 4, tokens, targets, NULL), 0);
    for (int i = 0; i < 32; i++) {
        assert_int_equal(tokens[i], 1 + starts[4 + i / 8] + i % 8);
        assert_int_equal(targets[i], tokens[i] + 1);
    }
    int32_t part[8], part_targets[8];
    /* a micro-batch is a slice of the step's rows */
    assert_int_equal(data_rows(&d, &o, 1, 2, 1, part, part_targets, NULL), 0);
    assert_memory_equal(part, tokens + 16, sizeof part);
    assert_int_equal(start(&d, &o, INT64_MAX, 3), ((INT64_MAX % 6) * 4 + 3) % 6 * 8);
    assert_true(data_epochs(&d, &o, 0, 3) == 2);
    data_free(&d);
    counted(state, &d, 48); /* a sixth window would want a 49th token as its last target */
    assert_int_equal(start(&d, &o, 1, 0), 32);
    assert_int_equal(start(&d, &o, 1, 1), 0);
    data_free(&d);
    counted(state, &d, 9); /* exactly one window */
    for (int step = 0; step < 3; step++)
        assert_int_equal(start(&d, &o, step, 1), 0);
    data_free(&d);
}

static void random_windows_reach_both_ends(void **state) {
    Data d;
    counted(state, &d, 20);
    DataOrder o = { .kind = ORDER_RANDOM, .seed = 5, .context = 8, .rows = 4 };
    int times[20] = { 0 };
    for (int step = 0; step < 500; step++)
        for (int row = 0; row < 4; row++) {
            int64_t s = start(&d, &o, step, row);
            assert_true(s >= 0 && s <= 20 - 8 - 1);
            assert_int_equal(s, start(&d, &o, step, row));
            times[s]++;
        }
    for (int s = 0; s <= 11; s++)
        assert_true(times[s] > 100); /* 167 each on average */
    DataOrder other = o;
    other.seed = 6;
    int same = 0;
    for (int step = 0; step < 100; step++)
        same += start(&d, &o, step, 0) == start(&d, &other, step, 0);
    assert_true(same < 40);
    data_free(&d);
}

/* Drawn at these places since the first version: runs of then are runs of now. */
static void random_windows_are_those_of_before(void **state) {
    static const int64_t places[8] = { 178515, 138601, 44966, 184242, 89720, 58218, 43197, 184858 };
    Data d;
    counted(state, &d, 200000);
    DataOrder o = { .kind = ORDER_RANDOM, .seed = 42, .context = 64, .rows = 4 };
    for (int i = 0; i < 8; i++)
        assert_int_equal(start(&d, &o, 1000 * (i / 4), i % 4), places[i]);
    data_free(&d);
}

/* == Permutations ========================================================= */

static void every_number_has_its_place(void **state) {
    (void)state;
    enum { MOST = 1500 };
    for (uint64_t n = 1; n <= MOST; n += n < 70 ? 1 : 97) {
        bool taken[MOST] = { false };
        Permutation p = { n, 9, 0, n };
        for (uint64_t i = 0; i < n; i++) {
            uint64_t to = permutation_at(&p, i);
            assert_true(to < n && !taken[to]);
            taken[to] = true;
        }
    }
    Permutation large = { UINT64_C(1) << 62, 1, 0, 0 };
    assert_true(permutation_at(&large, 5) < large.n);
    assert_true(permutation_at(&large, 5) != permutation_at(&large, 6));
}

/* Over many permutations of few numbers each goes everywhere equally often, as do pairs: their
** squared deviations are what chance leaves. */
static void permutations_are_even(void **state) {
    (void)state;
    enum { N = 11, TIMES = 20000 };
    static int one[N][N], two[N][N];
    for (uint64_t k = 0; k < TIMES; k++) {
        Permutation p = { N, 77, 3, k };
        uint64_t first = permutation_at(&p, 0);
        for (uint64_t i = 0; i < N; i++)
            one[i][permutation_at(&p, i)]++;
        two[first][permutation_at(&p, 1)]++;
    }
    double chi = 0, pairs = 0, each = TIMES / (double)N, pair = TIMES / (double)(N * (N - 1));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            chi += (one[i][k] - each) * (one[i][k] - each) / each;
            if (i != k) pairs += (two[i][k] - pair) * (two[i][k] - pair) / pair;
        }
    assert_true(chi < 170);   /* 100 degrees of freedom */
    assert_true(pairs < 185); /* 109 */
}

static void shuffled_windows(void **state) {
    enum { WINDOWS = 31, ROWS = 4, EPOCHS = 6 };
    Data d;
    counted(state, &d, WINDOWS * 8 + 3);
    DataOrder o = { .kind = ORDER_SHUFFLED, .seed = 3, .context = 8, .rows = ROWS };
    int moved = 0, repeated = 0;
    int64_t before[WINDOWS] = { 0 };
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        bool seen[WINDOWS] = { false };
        for (int i = 0; i < WINDOWS; i++) {
            int n = epoch * WINDOWS + i;
            int64_t at = start(&d, &o, n / ROWS, n % ROWS);
            assert_true(at % 8 == 0 && at / 8 < WINDOWS && !seen[at / 8]);
            seen[at / 8] = true;
            moved += at / 8 != i;
            repeated += epoch && before[i] == at;
            before[i] = at;
        }
        assert_true(fabs(data_epochs(&d, &o, 0, 31) - 4) < 1e-12);
    }
    assert_true(moved > EPOCHS * WINDOWS * 3 / 4);
    assert_true(repeated < EPOCHS * WINDOWS / 4); /* another order each time */
    DataOrder other = o;
    other.seed = 4;
    int same = 0;
    for (int step = 0; step < 50; step++)
        same += start(&d, &o, step, 0) == start(&d, &other, step, 0);
    assert_true(same < 15);
    data_free(&d);
}

/* == Shares =============================================================== */

/* At any time, of any weights; and each source gives its windows in its own order. */
static void sources_have_their_shares(void **state) {
    static const double weight[][3] = {
        { 0.3, 0.7, 0 }, { 1, 1, 1 }, { 5, 0.01, 94.99 }, { 1e-6, 1, 1 }
    };
    enum { N = 20000, ROWS = 7 };
    write_counted(state, "a", 0, 40), write_counted(state, "b", 0, 100);
    write_counted(state, "c", 0, 60);
    Data d;
    assert_int_equal(data_of(&d, state, "@/a:1 @/b:1 @/c:1", NULL, false, NULL), 0);
    for (size_t k = 0; k < sizeof weight / sizeof *weight; k++) {
        DataOrder o = { .kind = ORDER_SEQUENTIAL, .seed = k, .context = 8, .rows = ROWS };
        int64_t count[3] = { 0 };
        double sum = weight[k][0] + weight[k][1] + weight[k][2];
        d.sources = weight[k][2] > 0 ? 3 : 2;
        for (int i = 0; i < d.sources; i++)
            d.source[i].weight = weight[k][i];
        for (int n = 0; n < N; n++) {
            DataPlace at = data_place(&d, &o, n / ROWS, n % ROWS);
            int64_t windows = (d.source[at.source].count - 1) / 8;
            assert_int_equal(at.start, count[at.source] % windows * 8);
            count[at.source]++;
            for (int i = 0; i < d.sources; i++)
                assert_true(fabs((double)count[i] - weight[k][i] / sum * (n + 1)) < i + 1.001);
        }
        for (int i = 0; i < d.sources; i++)
            assert_true(
                fabs(data_epochs(&d, &o, i, N / ROWS) * (double)((d.source[i].count - 1) / 8)
                     - (double)count[i])
                < ROWS + 1);
    }
    d.sources = 3;
    data_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential_windows),
        cmocka_unit_test(random_windows_reach_both_ends),
        cmocka_unit_test(random_windows_are_those_of_before),
        cmocka_unit_test(every_number_has_its_place),
        cmocka_unit_test(permutations_are_even),
        cmocka_unit_test(shuffled_windows),
        cmocka_unit_test(sources_have_their_shares),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
