/* SPDX-License-Identifier: MIT
** Tables of waves for rotary positions: cosines and sines in double precision,
** without libm.  The angle is brought to [-pi/4, pi/4] by subtracting n pi/2 in
** three parts of 33, 33 and 53 bits: the products of the first two with n are
** exact up to n = 2^20, so the result is good to 1e-15 for angles up to 1.6e6,
** and gradually less far beyond.
*/
#include "kernels.h"

static double sine_near(double x) {
    double z = x * x;
    double p = 1.58969099521155010221e-10;
    p = p * z - 2.50507602534068634195e-08;
    p = p * z + 2.75573137070700676789e-06;
    p = p * z - 1.98412698298579493134e-04;
    p = p * z + 8.33333333332248946124e-03;
    p = p * z - 1.66666666666666324348e-01;
    return x + x * z * p;
}

static double cosine_near(double x) {
    double z = x * x;
    double p = -1.13596475577881948265e-11;
    p = p * z + 2.08757232129817482790e-09;
    p = p * z - 2.75573143513906633035e-07;
    p = p * z + 2.48015872894767294178e-05;
    p = p * z - 1.38888888888741095749e-03;
    p = p * z + 4.16666666666666019037e-02;
    return 1.0 - 0.5 * z + z * z * p;
}

/* cos(x), or sin(x) if 'sine'. */
static double wave(double x, int sine) {
    int64_t n = (int64_t)(x * 6.36619772367581382433e-01 + (x < 0 ? -0.5 : 0.5));
    double k = (double)n;
    x -= k * 1.57079632673412561417e+00;
    x -= k * 6.07710050630396597660e-11;
    x -= k * 2.02226624879595063154e-21;
    int64_t quarter = (sine ? n - 1 : n) & 3; /* sin(x) = cos(x - pi/2) */
    double y = quarter & 1 ? sine_near(x) : cosine_near(x);
    return quarter == 1 || quarter == 2 ? -y : y;
}

void k_wave(int64_t first, int64_t positions, int64_t n, const double *frequency, double scale,
            int sine, float *table, int64_t ld) {
    for (int64_t p = 0; p < positions; p++)
        for (int64_t i = 0; i < n; i++)
            table[p * ld + i] = (float)(scale * wave((double)(first + p) * frequency[i], sine));
}
