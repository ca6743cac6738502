/* SPDX-License-Identifier: MIT
** Philox4x32-10 (Salmon et al., 2011) and the random numbers made from it.  The counter's four
** words separate the uses: data has a small attempt number in the last word, sampling and training
** have tags there, and initial values have a 64-bit hash of the name in the last two words.
*/
#include "random.h"

#include <math.h>
#include <string.h>

#include "hash.h"
#include "philox.h"

#define SAMPLING UINT32_C(0x73616d70)
#define DRAWING UINT32_C(0x64726177)

static void draw(uint64_t seed, uint64_t low, uint32_t c2, uint32_t c3, uint32_t out[4]) {
    uint32_t counter[4] = { (uint32_t)low, (uint32_t)(low >> 32), c2, c3 };
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    philox(counter, key, out);
}

static uint64_t pair(const uint32_t x[4]) { return (uint64_t)x[1] << 32 | x[0]; }

/* The first 2^64 mod n values are drawn again, so that n divides what is left. */
uint64_t random_below(uint64_t seed, uint64_t step, uint32_t row, uint64_t n) {
    uint64_t reject = (0 - n) % n;
    for (uint32_t attempt = 0;; attempt++) {
        uint32_t x[4];
        draw(seed, step, row, attempt, x);
        if (pair(x) >= reject) return pair(x) % n;
    }
}

double random_uniform(uint64_t seed, uint32_t stream, uint64_t index) {
    uint32_t x[4];
    draw(seed, index, stream, SAMPLING, x);
    return (double)(pair(x) >> 11) * 0x1p-53;
}

uint64_t random_draw(uint64_t seed, uint64_t step) {
    uint32_t x[4];
    draw(seed, step, 0, DRAWING, x);
    return pair(x) | 1;
}

uint64_t random_stream(const char *name) { return xxh64(name, strlen(name), 0); }

/* == Normal deviates, by Box and Muller =================================== */

/* log(x) for normal x > 0: x = m 2^e with m in [sqrt 1/2, sqrt 2) and log m = 2 artanh s, where
** s = (m-1)/(m+1). */
static double exact_log(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000);
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) m *= 0.5, e++;
    double s = (m - 1) / (m + 1), z = s * s, sum = 0;
    for (int k = 10; k >= 0; k--)
        sum = sum * z + 1.0 / (2 * k + 1);
    return 2 * s * sum + e * 0.69314718055994531;
}

/* cos and sin of a quarter turn's multiple plus x, |x| <= pi/4, by Taylor's series. */
static void exact_turn(int quarter, double x, double *c, double *s) {
    double z = -x * x, cosine = 1, sine = 1;
    for (int k = 9; k >= 1; k--) {
        cosine = 1 + cosine * z / ((2 * k - 1) * (2 * k));
        sine = 1 + sine * z / ((2 * k) * (2 * k + 1));
    }
    sine *= x;
    *c = quarter == 0 ? cosine : quarter == 1 ? -sine : quarter == 2 ? -cosine : sine;
    *s = quarter == 0 ? sine : quarter == 1 ? cosine : quarter == 2 ? -sine : -cosine;
}

static void two_normals(uint32_t radius, uint32_t angle, double out[2]) {
    double r = sqrt(-2 * exact_log((radius + 0.5) * 0x1p-32)), c, s;
    double x = ((double)(angle & 0x3fffffff) * 0x1p-30 - 0.5) * 1.5707963267948966;
    exact_turn((int)(angle >> 30), x, &c, &s);
    out[0] = r * c;
    out[1] = r * s;
}

/* Block b of a stream holds deviates 4b … 4b+3. */
static void four_normals(uint64_t seed, uint64_t stream, uint64_t block, double out[4]) {
    uint32_t x[4];
    draw(seed, block, (uint32_t)stream, (uint32_t)(stream >> 32), x);
    two_normals(x[0], x[1], out);
    two_normals(x[2], x[3], out + 2);
}

void random_normal(uint64_t seed, uint64_t stream, int64_t first, int64_t count, double deviation,
                   float *out) {
    double four[4];
    for (int64_t i = 0; i < count; i++) {
        int64_t at = first + i;
        if (!i || at % 4 == 0) four_normals(seed, stream, (uint64_t)(at / 4), four);
        out[i] = (float)(deviation * four[at % 4]);
    }
}

/* == Even deviates ======================================================== */

void random_even(uint64_t seed, uint64_t stream, Evenly line, int64_t first, int64_t count,
                 float *out) {
    for (int64_t i = 0; i < count; i++) {
        uint32_t x[4];
        draw(seed, (uint64_t)(first + i), (uint32_t)stream, (uint32_t)(stream >> 32), x);
        double place = (double)(pair(x) >> 11) * 0x1p-53 * (double)(line.count - 1);
        int64_t at = (int64_t)place;
        out[i] = (float)(line.at[at] + (place - (double)at) * (line.at[at + 1] - line.at[at]));
    }
}

/* == Parameters =========================================================== */

void random_initial(const InitialValues *x, uint64_t seed, const char *name, int64_t first,
                    int64_t count, float *out) {
    if (x->kind == 1) {
        random_normal(seed, random_stream(name), first, count, x->value, out);
        return;
    }
    if (x->kind == 3) {
        random_even(seed, random_stream(name), (Evenly){ x->list, x->points }, first, count, out);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)(x->kind == 2 ? x->list[first + i] : x->value);
}
