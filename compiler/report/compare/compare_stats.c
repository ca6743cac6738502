/* SPDX-License-Identifier: MIT
** Statistics of few values: medians, means with 95 % intervals, paired ratios.  Intervals are
** Student's t, which only supposes that means of rounds are nearly normal; a single value has no
** interval.  Ratios of times are trimmed first.
*/
#include "comparison.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_quantile(const double *x, int n, double share) {
    double *copy = n > 0 ? malloc((size_t)n * sizeof *copy) : NULL;
    if (!copy) return NAN;
    for (int i = 0; i < n; i++)
        copy[i] = x[i];
    qsort(copy, (size_t)n, sizeof *copy, ascending);
    double at = share * (n - 1), from = floor(at);
    int i = (int)from, next = i + 1 < n ? i + 1 : i;
    double value = copy[i] + (at - from) * (copy[next] - copy[i]);
    free(copy);
    return value;
}

double stats_median(const double *x, int n) { return stats_quantile(x, n, 0.5); }

/* The 97.5 % quantile of Student's t; beyond the table the first terms of its
** expansion in 1 / degrees, right to 1e-4 there. */
static double quantile(int degrees) {
    static const double table[] = { 12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                    2.4469,  2.3646, 2.3060, 2.2622, 2.2281 };
    const double z = 1.959964, d = degrees;
    if (degrees <= 10) return table[degrees - 1];
    return z + (z * z * z + z) / (4 * d) + (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * d * d);
}

/* Abramowitz and Stegun 26.7.3 and 26.7.4: a sum of powers of a cosine. */
double stats_chance(double t, int degrees) {
    const double pi = 3.14159265358979323846, angle = atan(fabs(t) / sqrt(degrees)),
                 square = cos(angle) * cos(angle);
    double sum = 0, term = degrees % 2 ? cos(angle) : 1;
    for (int i = degrees % 2 ? 3 : 2; i <= degrees; i += 2) {
        sum += term;
        term *= square * (i - 1) / i;
    }
    double inside = sin(angle) * sum;
    if (degrees % 2) inside = 2 / pi * (angle + inside);
    return fmin(fmax(1 - inside, 0), 1);
}

/* Of a mean with this standard error. */
static double chance_of(double mean, double error, int degrees) {
    if (mean == 0) return 1;
    return error > 0 ? stats_chance(mean / error, degrees) : 0;
}

void stats_holm(const double *chance, int n, double *corrected) {
    for (int i = 0; i < n; i++) {
        double most = 0;
        for (int k = 0; k < n; k++) {
            int left = 0; /* that are no smaller */
            for (int j = 0; j < n; j++)
                left += chance[j] > chance[k] || (chance[j] == chance[k] && j >= k);
            bool before = chance[k] < chance[i] || (chance[k] == chance[i] && k <= i);
            if (before) most = fmax(most, left * chance[k]);
        }
        corrected[i] = fmin(most, 1);
    }
}

Estimate stats_mean(const double *x, int n) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    double mean = n > 0 ? sum / n : NAN;
    for (int i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    if (n < 2) return (Estimate){ .mean = mean, .low = mean, .high = mean, .chance = 1 };
    double deviation = sqrt(squares / (n - 1)), error = deviation / sqrt(n),
           half = quantile(n - 1) * error;
    return (Estimate){ mean,        deviation, mean - half,
                       mean + half, true,      chance_of(mean, error, n - 1) };
}

/* A fifth of the values at each end; with fewer than seven the interval of the rest is wider than
** that of all. */
static int trimmed(int n) { return n >= 7 ? n / 5 : 0; }

/* Mean of what trimming leaves, with the interval of Tukey and McLaughlin (Sankhya A 25, 1963):
** Student's t of the values left, of a deviation for which those cut off count as their nearest
** ones left.  Sorts x and overwrites what it cuts off. */
static Estimate trimmed_mean(double *x, int n) {
    int cut = trimmed(n), left = n - 2 * cut;
    qsort(x, (size_t)n, sizeof *x, ascending);
    Estimate e = stats_mean(x + cut, left);
    if (!cut) return e;
    for (int i = 0; i < cut; i++)
        x[i] = x[cut], x[n - 1 - i] = x[n - 1 - cut];
    e.deviation = stats_mean(x, n).deviation;
    double error = e.deviation * sqrt(n) / left, half = quantile(left - 1) * error;
    e.low = e.mean - half, e.high = e.mean + half;
    e.chance = chance_of(e.mean, error, left - 1);
    return e;
}

Estimate stats_ratio(const double *x, const double *base, int n) {
    double *log_ratio = n > 0 ? malloc((size_t)n * sizeof *log_ratio) : NULL;
    if (!log_ratio) return (Estimate){ .mean = NAN };
    for (int i = 0; i < n; i++)
        log_ratio[i] = log(x[i] / base[i]);
    Estimate e = trimmed_mean(log_ratio, n);
    free(log_ratio);
    return (Estimate){ expm1(e.mean), e.deviation, expm1(e.low), expm1(e.high), e.known, e.chance };
}

/* Quantile of Student's t at 0.975, and about that of the normal distribution at 0.8: a difference
** of so many standard errors is detected in four of five times. */
static double errors_needed(int n) { return quantile(n - 1) + 0.8416; }

double stats_shown(const Estimate *e, int n) {
    return e->known && n > 1 ? errors_needed(n) * e->deviation / sqrt(n) : NAN;
}

int stats_needed(const Estimate *e) {
    enum { MOST = 1000000 };
    if (!e->known || e->mean == 0) return 0;
    int low = 1, high = MOST; /* too few; enough */
    if (stats_shown(e, high) > fabs(e->mean)) return 0;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (stats_shown(e, middle) > fabs(e->mean)) low = middle;
        else high = middle;
    }
    return high;
}

bool stats_covers_zero(const Estimate *e) { return !e->known || (e->low <= 0 && e->high >= 0); }
