/* SPDX-License-Identifier: MIT
** Mixers of several streams against their definitions (hyper-connections, mHC and
** its lite form, gated residual), at every number of streams that differs in kind:
** one, two, an odd one, more than the width's divisors.  Here the definitions are
** written down once more, token by token; reference.h does the rest.
*/
#include "test.h"

#include <math.h>
#include <string.h>

#include "reference.h"
#include "scratch.h"

enum { MOST = 5, MOST_WEIGHTS = 2 * MOST + 120 };

/* What the spec's text says, for the reference. */
typedef struct Row {
    const char *residual;
    Mix *mix;
    int streams, iterations, rank;
    bool is_static, lite, layernorm;
} Row;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* h = sum of a_i X_i */
static void weighted(const double *a, double X[][D], int n, double *h) {
    memset(h, 0, D * sizeof *h);
    for (int i = 0; i < n; i++)
        add_to(h, a[i], X[i]);
}

static void copies(const double *e, double X[][D], int n) {
    for (int i = 0; i < n; i++)
        memcpy(X[i], e, D * sizeof *e);
}

/* == Hyper-connections: X'_j = sum of A_ij X_i + b_j out ================== */

/* What the streams add to a, A and b: s tanh(Y w). */
static void hyper_dynamic(Reference *r, const char *p, double X[][D], int n, double *a, double *A,
                          double *b) {
    const double *w = P(r, "%s.norm.weight", p), *for_a = P(r, "%s.dynamic_read", p),
                 *for_b = P(r, "%s.dynamic_write", p);
    const double *for_A = P(r, "%s.dynamic_mix", p), s_r = *P(r, "%s.scale_read", p),
                 s_w = *P(r, "%s.scale_write", p);
    for (int i = 0; i < n; i++) {
        double Y[D], column[D];
        for (int d = 0; d < D; d++)
            Y[d] = X[i][d] / rms(X[i], r->eps) * w[d];
        a[i] += s_r * tanh(dot(Y, for_a, D));
        b[i] += s_w * tanh(dot(Y, for_b, D));
        for (int j = 0; j < n; j++) {
            for (int d = 0; d < D; d++)
                column[d] = for_A[d * n + j];
            A[i * n + j] += s_r * tanh(dot(Y, column, D));
        }
    }
}

static void hyper_token(Reference *r, double *x) {
    const Row *o = r->options;
    const int n = o->streams;
    double X[MOST][D], next[MOST][D], a[MOST], b[MOST], A[MOST * MOST], h[D], out[D];
    copies(x, X, n);
    for (int s = 0; s < S; s++) {
        char p[48];
        read_prefix(s, p);
        memcpy(a, P(r, "%s.read", p), (size_t)n * sizeof *a);
        memcpy(b, P(r, "%s.write", p), (size_t)n * sizeof *b);
        memcpy(A, P(r, "%s.mix", p), (size_t)(n * n) * sizeof *A);
        if (!o->is_static) hyper_dynamic(r, p, X, n, a, A, b);
        weighted(a, X, n, h);
        sublayer(r, s, h, out);
        memset(next, 0, sizeof next);
        for (int j = 0; j < n; j++) {
            for (int i = 0; i < n; i++)
                add_to(next[j], A[i * n + j], X[i]);
            add_to(next[j], b[j], out);
        }
        memcpy(X, next, sizeof X);
    }
    double ones[MOST] = { 1, 1, 1, 1, 1 };
    weighted(ones, X, n, x);
}

static void hyper(Reference *r, double x[T][D]) {
    for (int t = 0; t < T; t++)
        hyper_token(r, x[t]);
}

/* == mHC: X'_i = sum of M_ij X_j + w_i out ================================ */

static void sinkhorn(double *M, int n, int iterations) {
    for (int i = 0; i < n; i++) {
        double most = -INFINITY;
        for (int j = 0; j < n; j++)
            most = fmax(most, M[i * n + j]);
        for (int j = 0; j < n; j++)
            M[i * n + j] = exp(M[i * n + j] - most);
    }
    for (int k = 0; k < 2 * iterations; k++) /* rows, columns, rows, ... */
        for (int i = 0; i < n; i++) {
            int along = k % 2 ? n : 1, first = k % 2 ? i : i * n;
            double sum = 0;
            for (int j = 0; j < n; j++)
                sum += M[first + j * along];
            for (int j = 0; j < n; j++)
                M[first + j * along] /= sum;
        }
}

/* The next permutation of n in lexicographic order. */
static void next_permutation(int *p, int n) {
    int i = n - 2, j = n - 1;
    while (i >= 0 && p[i] > p[i + 1])
        i--;
    if (i < 0) return;
    while (p[j] < p[i])
        j--;
    int swap = p[i];
    p[i] = p[j], p[j] = swap;
    for (int a = i + 1, b = n - 1; a < b; a++, b--)
        swap = p[a], p[a] = p[b], p[b] = swap;
}

/* The sum of permutation matrices, weighed by a softmax of R. */
static void of_permutations(const double *R, int count, double *M, int n) {
    int p[MOST];
    double sum = 0;
    for (int i = 0; i < n; i++)
        p[i] = i;
    memset(M, 0, (size_t)(n * n) * sizeof *M);
    for (int k = 0; k < count; k++)
        sum += exp(R[k]);
    for (int k = 0; k < count; k++, next_permutation(p, n))
        for (int i = 0; i < n; i++)
            M[i * n + p[i]] += exp(R[k]) / sum;
}

/* alpha m + c for all 2n + count numbers. */
static void mhc_numbers(Reference *r, const char *p, double X[][D], int n, int count, double *m) {
    const double *proj = P(r, "%s.proj.weight", p), *bias = P(r, "%s.bias", p),
                 *alpha = P(r, "%s.alpha", p), *z = X[0];
    double scale = 1 / sqrt(dot(z, z, n * D) / (n * D) + r->eps);
    for (int i = 0; i < 2 * n + count; i++)
        m[i] = alpha[i < n           ? 0
                         : i < 2 * n ? 1
                                     : 2]
                * dot(proj + i * n * D, z, n * D) * scale
            + bias[i];
}

static void mhc_token(Reference *r, double *x, int count) {
    const Row *o = r->options;
    const int n = o->streams;
    double X[MOST][D], next[MOST][D], m[MOST_WEIGHTS], M[MOST * MOST], h[D], out[D];
    copies(x, X, n);
    for (int s = 0; s < S; s++) {
        char p[48];
        read_prefix(s, p);
        mhc_numbers(r, p, X, n, count, m);
        for (int i = 0; i < 2 * n; i++)
            m[i] = (i < n ? 1 : 2) * sigmoid(m[i]);
        if (o->lite) of_permutations(m + 2 * n, count, M, n);
        else memcpy(M, m + 2 * n, (size_t)count * sizeof *M), sinkhorn(M, n, o->iterations);
        weighted(m, X, n, h);
        sublayer(r, s, h, out);
        for (int i = 0; i < n; i++) {
            weighted(M + i * n, X, n, next[i]);
            add_to(next[i], m[n + i], out);
        }
        memcpy(X, next, (size_t)n * sizeof *X);
    }
    double share[MOST];
    for (int i = 0; i < n; i++)
        share[i] = 1.0 / n;
    weighted(share, X, n, x);
}

static void mhc(Reference *r, double x[T][D]) {
    const Row *o = r->options;
    int count = o->streams * o->streams;
    for (int i = count = o->lite ? 1 : count; o->lite && i <= o->streams; i++)
        count *= i;
    for (int t = 0; t < T; t++)
        mhc_token(r, x[t], count);
}

/* == Gated residual: X'_i = X_i + beta_i out ============================== */

/* h = mean of g_i Xn_i; v = Xn as a vector, over n */
static void gated_read(Reference *r, const char *p, double X[][D], int n, double *h, double *v) {
    const int rank = ((const Row *)r->options)->rank, nD = n * D;
    const double *w = P(r, "%s.norm.weight", p), *down = P(r, "%s.gate_down.weight", p),
                 *up = P(r, "%s.gate_up.weight", p);
    double narrow[8];
    for (int k = 0; k < nD; k++)
        v[k] = X[k / D][k % D] / rms(X[k / D], r->eps) * (1 + w[k]) / n;
    for (int i = 0; i < rank; i++) {
        double u = dot(down + i * nD, v, nD);
        narrow[i] = u * sigmoid(u);
    }
    memset(h, 0, D * sizeof *h);
    for (int k = 0; k < nD; k++)
        h[k % D] += sigmoid(dot(up + k * rank, narrow, rank)) * v[k];
}

static void gated(Reference *r, double x[T][D]) {
    const int n = ((const Row *)r->options)->streams;
    for (int t = 0; t < T; t++) {
        double X[MOST][D], v[MOST * D], h[D], out[D];
        copies(x[t], X, n);
        for (int s = 0; s < S; s++) {
            char p[48];
            read_prefix(s, p);
            gated_read(r, p, X, n, h, v);
            sublayer(r, s, h, out);
            for (int i = 0; i < n; i++)
                add_to(X[i], 2 * sigmoid(dot(P(r, "%s.inject.weight", p) + i * n * D, v, n * D)),
                       out);
        }
        gated_read(r, "readout.residual", X, n, x[t], v);
    }
}

/* == The table ============================================================ */

static const Row row[] = {
    { "hyper { streams = 1 }", hyper, .streams = 1 },
    { "hyper { streams = 2 }", hyper, .streams = 2, .layernorm = true },
    { "hyper { streams = 3 }", hyper, .streams = 3 },
    { "hyper { streams = 5 }", hyper, .streams = 5 },
    { "hyper { streams = 1, dynamic = false }", hyper, .streams = 1, .is_static = true },
    { "hyper { streams = 3, dynamic = false }", hyper, .streams = 3, .is_static = true },
    { "hyper { streams = 4, dynamic = false }", hyper, .streams = 4, .is_static = true,
      .layernorm = true },
    { "mhc { streams = 1 }", mhc, .streams = 1, .iterations = 20 },
    { "mhc { streams = 2 }", mhc, .streams = 2, .iterations = 20 },
    { "mhc { streams = 3, iterations = 1 }", mhc, .streams = 3, .iterations = 1 },
    { "mhc { streams = 4, iterations = 3 }", mhc, .streams = 4, .iterations = 3,
      .layernorm = true },
    { "mhc { streams = 5, iterations = 7 }", mhc, .streams = 5, .iterations = 7 },
    { "mhc { streams = 1, lite = true }", mhc, .streams = 1, .lite = true },
    { "mhc { streams = 2, lite = true }", mhc, .streams = 2, .lite = true },
    { "mhc { streams = 3, lite = true, iterations = 4 }", mhc, .streams = 3, .lite = true },
    { "mhc { streams = 4, lite = true }", mhc, .streams = 4, .lite = true },
    { "mhc { streams = 5, lite = true }", mhc, .streams = 5, .lite = true },
    { "gated_residual { streams = 1, rank = 2 }", gated, .streams = 1, .rank = 2 },
    { "gated_residual { streams = 2, rank = 1 }", gated, .streams = 2, .rank = 1,
      .layernorm = true },
    { "gated_residual { streams = 3, rank = 8 }", gated, .streams = 3, .rank = 8 },
    { "gated_residual { streams = 5, rank = 3 }", gated, .streams = 5, .rank = 3 },
};

static void every_row_is_its_definition(void **state) {
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Reference r = { .residual = row[i].residual,
                        .layernorm = row[i].layernorm,
                        .bare = row[i].mix == gated,
                        .eps = 0.01,
                        .options = &row[i] };
        reference_check(state, &r, row[i].mix);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_row_is_its_definition) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
