/* SPDX-License-Identifier: MIT
** The tree in which micro-batches are summed: its shape is of their number alone, whoever has which
** parts, and parts that are none are refused.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "sum_tree.h"

enum { LEAVES = 41, COUNT = 300 }; /* more numbers than a block */

static float leaf[LEAVES][COUNT];

/* Of magnitudes that differ: another order is another sum. */
static int make_leaves(void **state) {
    (void)state;
    for (int i = 0; i < LEAVES; i++)
        for (int k = 0; k < COUNT; k++)
            leaf[i][k] = (float)((random_uniform(1, (uint32_t)i, (uint64_t)k) - 0.4)
                                 * (double)(1 << (i * 7 + k) % 20));
    return 0;
}

/* By definition: the left half is the largest power of two that leaves some. */
static float defined(int first, int count, int k) {
    int left = 1;
    if (count == 1) return leaf[first][k];
    while (2 * left < count)
        left *= 2;
    return defined(first, left, k) + defined(first + left, count - left, k);
}

/* The sums that a rank has of its leaves: neighbours joined as long as they can be. */
static int64_t parts_of(int leaves, int first, int count, strata_part *part, float room[][COUNT]) {
    int64_t n = 0;
    for (int i = first; i < first + count; i++) {
        part[n++] = (strata_part){ i, 1, NULL };
        while (n > 1 && sum_tree_join(leaves, &part[n - 2], &part[n - 1]))
            n--;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < COUNT; k++)
            room[i][k] = defined((int)part[i].first, (int)part[i].count, k);
        part[i].at = room[i];
    }
    return n;
}

static void any_ranks_have_the_sum_of_one(void **state) {
    (void)state;
    static float room[2 * LEAVES][COUNT];
    int other = 0;
    for (int leaves = 1; leaves <= LEAVES; leaves++)
        for (int ranks = 1; ranks <= leaves; ranks++) {
            strata_part part[2 * LEAVES];
            float sum[COUNT];
            int64_t n = 0, at = 0;
            for (int r = 0; r < ranks; r++) {
                int64_t first, count = sum_tree_share(leaves, r, ranks, &first);
                assert_true(first == at && count >= leaves / ranks);
                n += parts_of(leaves, (int)first, (int)count, part + n, room + n);
                at += count;
            }
            assert_true(at == leaves && (ranks > 1 || n == 1));
            assert_int_equal(strata_sum_parts(leaves, part, n, COUNT, sum), 0);
            for (int k = 0; k < COUNT; k++) {
                float chain = 0;
                for (int i = 0; i < leaves; i++)
                    chain += leaf[i][k];
                assert_true(sum[k] == defined(0, leaves, k));
                other += chain != sum[k];
            }
        }
    assert_true(other > COUNT); /* the order matters */
}

static void sums_may_take_a_part_s_place(void **state) {
    (void)state;
    static float a[COUNT], b[COUNT];
    memcpy(a, leaf[0], sizeof a), memcpy(b, leaf[1], sizeof b);
    const strata_part part[] = { { 0, 1, a }, { 1, 1, b } };
    assert_int_equal(strata_sum_parts(2, part, 2, COUNT, b), 0);
    for (int k = 0; k < COUNT; k++)
        assert_true(b[k] == leaf[0][k] + leaf[1][k]);
    assert_memory_equal(a, leaf[0], sizeof a);
}

static void numbers_are_summed_alike(void **state) {
    (void)state;
    for (int n = 1; n <= LEAVES; n++) {
        double x[2 * LEAVES];
        for (int i = 0; i < n; i++)
            x[2 * i] = leaf[i][3], x[2 * i + 1] = 1;
        double sum = sum_tree_numbers(x, n, 2), ones = sum_tree_numbers(x + 1, n, 2);
        assert_true(ones == n);
        if (n == 3) assert_true(sum == (x[0] + x[2]) + x[4]);
        if (n == 6) assert_true(sum == (x[0] + x[2] + (x[4] + x[6])) + (x[8] + x[10]));
    }
}

static void other_parts_are_refused(void **state) {
    (void)state;
    const float *x = leaf[0];
    static const struct {
        int64_t leaves, parts;
        struct {
            int64_t first, count;
        } part[3];
    } wrong[] = {
        { 4, 1, { { 0, 3 } } },                     /* ends too early */
        { 4, 2, { { 0, 2 }, { 3, 1 } } },           /* a gap */
        { 4, 3, { { 0, 1 }, { 1, 2 }, { 3, 1 } } }, /* [1, 3) is no node */
        { 4, 2, { { 0, 2 }, { 1, 2 } } },           /* one leaf twice */
        { 4, 2, { { 2, 2 }, { 0, 2 } } },           /* another order */
        { 4, 1, { { 0, 5 } } },
        { 4, 2, { { 0, 4 }, { 4, 0 } } },
        { 0, 1, { { 0, 0 } } },
        { -1, 1, { { 0, -1 } } },
        { INT64_MAX, 1, { { 0, INT64_MAX } } },
        { 4, 0, { { 0, 4 } } },
    };
    float out[COUNT];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        strata_part part[3];
        for (int64_t k = 0; k < 3; k++)
            part[k] = (strata_part){ wrong[i].part[k].first, wrong[i].part[k].count, x };
        assert_int_equal(strata_sum_parts(wrong[i].leaves, part, wrong[i].parts, COUNT, out),
                         STRATA_ERROR_ARGUMENT);
    }
    strata_part one = { 0, 1, x };
    assert_int_equal(strata_sum_parts(1, &one, 1, COUNT, NULL), STRATA_ERROR_ARGUMENT);
    assert_int_equal(strata_sum_parts(1, NULL, 1, COUNT, out), STRATA_ERROR_ARGUMENT);
    assert_int_equal(strata_sum_parts(1, &one, 1, -1, out), STRATA_ERROR_ARGUMENT);
    assert_int_equal(strata_sum_parts(1, &one, 1, 0, out), STRATA_OK);
    one.at = NULL;
    assert_int_equal(strata_sum_parts(1, &one, 1, COUNT, out), STRATA_ERROR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_ranks_have_the_sum_of_one),
        cmocka_unit_test(sums_may_take_a_part_s_place),
        cmocka_unit_test(numbers_are_summed_alike),
        cmocka_unit_test(other_parts_are_refused),
    };
    return cmocka_run_group_tests(tests, make_leaves, NULL);
}
