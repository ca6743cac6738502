/* SPDX-License-Identifier: MIT
** vector.h: exp and log against double over the whole range of floats, parts
** of vectors between guard pages, and the order of sums.
*/
#include "kernel_test.h"
#include <math.h>
#include "native/vector_calls.h"

/* Distance in units of the last place of 'right' as a float. */
static double ulps(float got, double right) {
    double unit = fmax(ldexp(1, ilogb(right == 0 ? 0x1p-149 : right) - 23), 0x1p-149);
    return fabs(got - right) / unit;
}

typedef struct Function {
    void (*call)(int64_t n, const float *x, float *y);
    double (*right)(double);
    double most; /* units in the last place */
} Function;

static void check(const Function *f, int64_t n, const float *x, const float *y) {
    for (int64_t i = 0; i < n; i++) {
        double right = f->right(x[i]);
        if (isnan(right)) assert_true(isnan(y[i]));
        else if (isinf((float)right)) assert_true(y[i] == (float)right);
        else assert_true(ulps(y[i], right) <= f->most);
    }
}

/* Every 4,001st float, all signs and exponents, then the ends. */
static void over_all_floats(const Function *f) {
    enum { COUNT = 1003 };
    float x[COUNT], y[COUNT];
    uint64_t bits = 0;
    while (bits < 0x100000000u) {
        for (int i = 0; i < COUNT; i++, bits += 4001) {
            uint32_t b = (uint32_t)bits;
            memcpy(&x[i], &b, sizeof b);
        }
        f->call(COUNT, x, y);
        check(f, COUNT, x, y);
    }
    static const float ends[] = { 0,          -0.0f,      INFINITY,  -INFINITY,
                                  NAN,        1,          -1,        0x1p-149f,
                                  0x1p-126f,  -0x1p-149f, 88.72283f, 88.72284f,
                                  -87.33655f, -103.97f,   -103.98f,  0x1.fffffep127f };
    enum { ENDS = sizeof ends / sizeof ends[0] };
    f->call(ENDS, ends, y);
    check(f, ENDS, ends, y);
}

static void exp_is_right(void **state) {
    (void)state;
    over_all_floats(&(Function){ call_exp, exp, LANES == 4 ? 1.2 : 1 });
}

static void log_is_right(void **state) {
    (void)state;
    over_all_floats(&(Function){ call_log, log, 1 });
}

static void parts_touch_nothing_else(void **state) {
    (void)state;
    float y[LANES], whole[LANES];
    for (int side = BEFORE; side <= AFTER; side++)
        for (int64_t n = 1; n < LANES; n++) {
            Guarded x = guard_matrix(1, n, n, (Side)side);
            for (int l = 0; l < LANES; l++)
                whole[l] = (float)(l + 1);
            call_store_part(whole, n, x.at);
            call_load_part(x.at, n, y);
            for (int l = 0; l < LANES; l++)
                assert_true(y[l] == (l < n ? (float)(l + 1) : 0));
            call_keep(whole, n, -5, y);
            for (int l = 0; l < LANES; l++)
                assert_true(y[l] == (l < n ? (float)(l + 1) : -5));
            if (side == BEFORE) assert_true(x.at[n] == 0); /* the page's rest was not written */
            guard_free(x);
        }
}

/* Halves, again and again. */
static float halves(const float *x, int n) {
    float sum[LANES];
    memcpy(sum, x, sizeof sum);
    for (n /= 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            sum[i] += sum[i + n];
    return sum[0];
}

static void sums_have_one_order(void **state) {
    (void)state;
    Draw d = { 1 };
    for (int round = 0; round < 200; round++) {
        float x[LANES], largest = -2;
        for (int l = 0; l < LANES; l++) {
            x[l] = draw_real(&d);
            largest = fmaxf(largest, x[l]);
        }
        assert_true(call_sum(x) == halves(x, LANES));
        assert_true(call_largest(x) == largest);
    }
}

/* Of as many vectors at once as they have lanes: each is the one it is alone. */
static void sums_at_once_are_those(void **state) {
    (void)state;
    Draw d = { 3 };
    float x[LANES * LANES], y[LANES];
    for (int i = 0; i < LANES * LANES; i++)
        x[i] = draw_real(&d);
    call_sums(x, y);
    for (int i = 0; i < LANES; i++)
        assert_true(y[i] == call_sum(x + i * LANES));
}

static void fma_is_the_same_in_vectors_and_alone(void **state) {
    (void)state;
    Draw d = { 2 };
    for (int round = 0; round < 200; round++) {
        float a[LANES], b[LANES], c[LANES], lanes[LANES], one[LANES];
        for (int l = 0; l < LANES; l++) {
            a[l] = draw_real(&d);
            b[l] = draw_real(&d);
            c[l] = draw_real(&d) * 1e-3f;
        }
        call_fma(a, b, c, lanes, one);
        for (int l = 0; l < LANES; l++) {
            assert_true(lanes[l] == one[l]);
            assert_true(lanes[l]
                        == (KERNEL_LEVEL >= 3 ? fmaf(a[l], b[l], c[l]) : a[l] * b[l] + c[l]));
        }
    }
}

/* A NaN in the second operand wins, one in the first is dropped. */
static void order_of_nan(void **state) {
    (void)state;
    float a[LANES], b[LANES], larger[LANES], smaller[LANES];
    for (int l = 0; l < LANES; l++) {
        a[l] = l % 3 == 0 ? NAN : (float)l;
        b[l] = l % 3 == 1 ? NAN : 2;
    }
    call_order(a, b, larger, smaller);
    for (int l = 0; l < LANES; l++) {
        assert_true(isnan(larger[l]) == (l % 3 == 1) && isnan(smaller[l]) == (l % 3 == 1));
        if (l % 3 == 2) assert_true(larger[l] == fmaxf(a[l], 2) && smaller[l] == fminf(a[l], 2));
        if (l % 3 == 0) assert_true(larger[l] == 2 && smaller[l] == 2);
    }
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_right),
        cmocka_unit_test(log_is_right),
        cmocka_unit_test(parts_touch_nothing_else),
        cmocka_unit_test(sums_have_one_order),
        cmocka_unit_test(sums_at_once_are_those),
        cmocka_unit_test(fma_is_the_same_in_vectors_and_alone),
        cmocka_unit_test(order_of_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
