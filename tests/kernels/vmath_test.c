/* SPDX-License-Identifier: MIT
** The elementary functions of compiled models against libm in double: a walk
** over all floats, the ranges where they bend, and the ends.
*/
#include "kernel_test.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "native/math_calls.h"

typedef struct Function {
    const char *name;
    void (*call)(int64_t n, const float *x, float *y);
    double (*right)(double);
    float low, high; /* the range that is walked densely */
    double ulps;     /* how far a result may be off */
    double least;    /* as far off is what may be 0 instead: denormals, which models take as 0 */
} Function;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* In units of the last place of the right result, as a float. */
static double distance(float got, double right, double least) {
    if (got == 0 && fabs(right) < least) return 0;
    if (isnan(right)) return isnan(got) ? 0 : INFINITY;
    if (isinf((float)right) || isinf(got) || isnan(got)) return got == (float)right ? 0 : INFINITY;
    double unit = fmax(ldexp(1, ilogb(right == 0 ? 0x1p-149 : right) - 23), 0x1p-149);
    return fabs(got - right) / unit;
}

static double worst(const Function *f, int64_t n, const float *x, float *y) {
    double most = 0;
    f->call(n, x, y);
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, distance(y[i], f->right(x[i]), f->least));
    return most;
}

static double over_all_floats(const Function *f) {
    enum { COUNT = 1003, STRIDE = 5003 };
    float x[COUNT], y[COUNT];
    double most = 0;
    uint64_t bits = 0;
    while (bits < 0x100000000u) {
        for (int i = 0; i < COUNT; i++, bits += STRIDE) {
            uint32_t b = (uint32_t)bits;
            memcpy(&x[i], &b, sizeof b);
        }
        most = fmax(most, worst(f, COUNT, x, y));
    }
    return most;
}

static double over_range(const Function *f) {
    enum { COUNT = 400003 };
    float *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y);
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(f->low + ((double)f->high - f->low) * i / (COUNT - 1));
    double most = worst(f, COUNT, x, y);
    free(x);
    free(y);
    return most;
}

static void functions_are_right(void **state) {
    (void)state;
    static const Function table[] = {
        { "exp", call_k_exp, exp, -104, 89, LANES == 4 ? 1.2 : 1, 0 },
        { "log", call_k_log, log, 0.25f, 4, 1, 0 },
        { "tanh", call_k_tanh, tanh, -10, 10, 2, 0 },
        { "erf", call_k_erf, erf, -4.5f, 4.5f, 2, 0 },
        { "sigmoid", call_k_sigmoid, sigmoid, -90, 90, 2.5, FLT_MIN },
        { "sigmoid", call_k_sigmoid, sigmoid, -87.4f, -87.3f, 2.5, FLT_MIN },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double all = over_all_floats(&table[i]), range = over_range(&table[i]);
        printf("%-8s %.3f ulp over all floats, %.3f over [%g, %g]\n", table[i].name, all, range,
               table[i].low, table[i].high);
        assert_true(all <= table[i].ulps);
        assert_true(range <= table[i].ulps);
    }
}

static void ends_are_exact(void **state) {
    (void)state;
    float x[6] = { -INFINITY, INFINITY, 0, -0.0f, NAN, 200 }, y[6];
    call_k_tanh(6, x, y);
    assert_true(y[0] == -1 && y[1] == 1 && y[2] == 0 && signbit(y[3]) && isnan(y[4]) && y[5] == 1);
    call_k_erf(6, x, y);
    assert_true(y[0] == -1 && y[1] == 1 && y[2] == 0 && signbit(y[3]) && isnan(y[4]) && y[5] == 1);
    call_k_sigmoid(6, x, y);
    assert_true(y[0] == 0 && y[1] == 1 && y[2] == 0.5f && y[3] == 0.5f && isnan(y[4]) && y[5] == 1);
    call_k_exp(6, x, y);
    assert_true(y[0] == 0 && y[1] == INFINITY && y[2] == 1 && y[3] == 1 && isnan(y[4])
                && y[5] == INFINITY);
    call_k_log(6, x, y);
    assert_true(isnan(y[0]) && y[1] == INFINITY && y[2] == -INFINITY && y[3] == -INFINITY
                && isnan(y[4]));
}

/* Softmax's power of two: normal results to 2.5 ulp, exactly 1 at 0 and 0 at -inf. */
static void exp2_is_right(void **state) {
    (void)state;
    Function f = { "exp2", call_exp2, exp2, -126, 0, 2.5, 0 };
    double range = over_range(&f);
    printf("%-8s %.3f ulp over [%g, %g]\n", f.name, range, f.low, f.high);
    assert_true(range <= f.ulps);
    float x[6] = { 0, -INFINITY, -127, -1000, NAN, -126.5f }, y[6];
    call_exp2(6, x, y);
    assert_true(y[0] == 1 && y[1] == 0 && y[2] == 0 && y[3] == 0 && isnan(y[4]));
    assert_true(y[5] >= 0 && y[5] < FLT_MIN);
}

/* A softmax's weight: the less wrong the larger, exactly 1 at 0 and 0 far below. */
static void exp_weight_is_right(void **state) {
    (void)state;
    enum { COUNT = 400000 };
    static float x[COUNT], y[COUNT];
    double most = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = -87.3f * (float)i / COUNT;
    call_k_exp_weight(COUNT, x, y);
    for (int i = 0; i < COUNT; i++) {
        double wrong = distance(y[i], exp(x[i]), 0) / (1 - (double)x[i]);
        if (wrong > most) most = wrong;
    }
    printf("weight   %.3f (1 + |x|) ulp\n", most);
    assert_true(most <= 1.9);
    float end[6] = { 0, -INFINITY, -88.1f, -1000, NAN, -87.9f }, z[6];
    call_k_exp_weight(6, end, z);
    assert_true(z[0] == 1 && z[1] == 0 && z[2] == 0 && z[3] == 0 && isnan(z[4]));
    assert_true(z[5] >= 0 && z[5] < FLT_MIN);
    /* what is no number stays none, whatever its bits are; nothing is above 1 */
    static const uint32_t none[4] = { 0x7fffffff, 0x7fa0dead, 0xffc00001, 0xff80beef };
    float odd[6] = { [4] = 1e-3f, [5] = 1e30f };
    memcpy(odd, none, sizeof none);
    call_k_exp_weight(6, odd, z);
    assert_true(isnan(z[0]) && isnan(z[1]) && isnan(z[2]) && isnan(z[3]) && z[4] == 1 && z[5] == 1);
}

/* exp of few large numbers, to the bit. */
static void exp_below_is_exp(void **state) {
    (void)state;
    enum { ONCE = 64, STRIDE = 61 };
    for (uint64_t at = 0; at < 1u << 31; at += (uint64_t)ONCE * STRIDE) {
        float x[2 * ONCE], y[2 * ONCE], below[2 * ONCE];
        for (uint32_t i = 0; i < ONCE; i++) {
            uint32_t bits = (uint32_t)at + i * STRIDE;
            memcpy(&x[i], &bits, sizeof bits);
            x[ONCE + i] = -x[i];
            if (x[i] > 40) x[i] = 40;
        }
        call_k_exp(2 * ONCE, x, y);
        call_exp_below(2 * ONCE, x, below);
        for (int i = 0; i < 2 * ONCE; i++)
            if (memcmp(&y[i], &below[i], sizeof *y) && !(isnan(y[i]) && isnan(below[i])))
                fail_msg("exp of %a: %a, below: %a", (double)x[i], (double)y[i], (double)below[i]);
    }
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_right), cmocka_unit_test(ends_are_exact),
        cmocka_unit_test(exp2_is_right),       cmocka_unit_test(exp_weight_is_right),
        cmocka_unit_test(exp_below_is_exp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
