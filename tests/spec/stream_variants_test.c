/* SPDX-License-Identifier: MIT
** What models in production make of mixers of several streams, against their definitions:
** mHC whose Sinkhorn iterations begin with a softmax and add eps (DeepSeek-V4, GLM), and
** hyper-connections whose streams do not mix (Hy-V4); both can end in a read of their own.
*/
#include "test.h"

#include <math.h>
#include <string.h>

#include "reference.h"
#include "scratch.h"

enum { MOST = 4, NUMBERS = 2 * MOST + MOST * MOST };

typedef struct Row {
    const char *residual;
    int streams, iterations; /* of the latter 0: streams do not mix */
    double eps, magnitude;
    bool exp, learned; /* what M begins with; how streams end */
} Row;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* h = sum of a_i X_i */
static void weighted(const double *a, double X[][D], int n, double *h) {
    memset(h, 0, D * sizeof *h);
    for (int i = 0; i < n; i++)
        add_to(h, a[i], X[i]);
}

/* alpha p + bias, alpha one number for each n and one for the rest. */
static void numbers(Reference *r, const char *p, double X[][D], int count, double *m) {
    const int n = ((const Row *)r->options)->streams;
    const double *proj = P(r, "%s.proj.weight", p), *bias = P(r, "%s.bias", p),
                 *alpha = P(r, "%s.alpha", p), *z = X[0];
    double scale = 1 / sqrt(dot(z, z, n * D) / (n * D) + r->eps);
    for (int i = 0; i < count; i++)
        m[i] = alpha[i / n < 2 ? i / n : 2] * dot(proj + i * n * D, z, n * D) * scale + bias[i];
}

static void divide(double *M, int n, bool columns, double eps) {
    for (int i = 0; i < n; i++) {
        int apart = columns ? n : 1, first = columns ? i : i * n;
        double sum = eps;
        for (int j = 0; j < n; j++)
            sum += M[first + j * apart];
        for (int j = 0; j < n; j++)
            M[first + j * apart] /= sum;
    }
}

/* M[i][j]: what stream i, before, gives to j. */
static void mixing(const Row *o, double *M) {
    int n = o->streams;
    for (int i = 0; i < n * n; i++)
        M[i] = exp(M[i]);
    divide(M, n, false, 0);
    for (int i = 0; i < n * n; i++)
        M[i] += o->eps;
    divide(M, n, true, o->eps);
    for (int k = 1; k < o->iterations; k++) {
        divide(M, n, false, o->eps);
        divide(M, n, true, o->eps);
    }
}

/* M[i][j] of the paper: what stream i, after, takes of j; here the other way round. */
static void mixing_by_exp(const Row *o, double *M) {
    int n = o->streams;
    for (int i = 0; i < n; i++) {
        double most = -INFINITY;
        for (int j = 0; j < n; j++)
            most = fmax(most, M[i * n + j]);
        for (int j = 0; j < n; j++)
            M[i * n + j] = exp(M[i * n + j] - most);
    }
    for (int k = 0; k < 2 * o->iterations; k++)
        divide(M, n, k % 2, o->eps);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double swap = M[i * n + j];
            M[i * n + j] = M[j * n + i], M[j * n + i] = swap;
        }
}

static void write_streams(const Row *o, double X[][D], double *m, const double *out) {
    int n = o->streams;
    double next[MOST][D], *M = m + 2 * n;
    if (o->iterations) (o->exp ? mixing_by_exp : mixing)(o, M);
    for (int j = 0; j < n; j++) {
        memset(next[j], 0, sizeof next[j]);
        for (int i = 0; i < n; i++)
            add_to(next[j], o->iterations ? M[i * n + j] : i == j, X[i]);
        add_to(next[j], m[n + j], out);
    }
    memcpy(X, next, (size_t)n * sizeof *X);
}

static void end(Reference *r, double X[][D], double *x) {
    const Row *o = r->options;
    double a[MOST];
    char p[48];
    read_prefix(S, p);
    if (o->learned) numbers(r, p, X, o->streams, a);
    for (int i = 0; i < o->streams; i++)
        a[i] = o->learned ? sigmoid(a[i]) + o->eps : 1.0 / o->streams;
    weighted(a, X, o->streams, x);
}

static void token(Reference *r, double *x) {
    const Row *o = r->options;
    int n = o->streams;
    double X[MOST][D], m[NUMBERS], h[D], out[D];
    for (int i = 0; i < n; i++)
        memcpy(X[i], x, sizeof X[i]);
    for (int s = 0; s < S; s++) {
        char p[48];
        read_prefix(s, p);
        numbers(r, p, X, o->iterations ? 2 * n + n * n : 2 * n, m);
        for (int i = 0; i < n; i++)
            m[i] = sigmoid(m[i]) + o->eps;
        for (int i = n; i < 2 * n; i++)
            m[i] = o->magnitude * sigmoid(m[i]) + (o->iterations ? 0 : o->eps);
        weighted(m, X, n, h);
        sublayer(r, s, h, out);
        write_streams(o, X, m, out);
    }
    end(r, X, x);
}

static void mix(Reference *r, double x[T][D]) {
    for (int t = 0; t < T; t++)
        token(r, x[t]);
}

/* clang-format off */
static const Row row[] = {
    { "mhc { streams = 4, start = 'softmax', eps = 1e-2, iterations = 3, head = 'learned' }",
      4, 3, 1e-2, 2, false, true },
    { "mhc { streams = 2, start = 'softmax', iterations = 1 }", 2, 1, 0, 2, false, false },
    { "mhc { streams = 3, iterations = 4, eps = 0.1 }", 3, 4, 0.1, 2, true, false },
    { "hyper { streams = 4, mix = false }", 4, 0, 0, 2, false, true },
    { "hyper { streams = 1, mix = false, magnitude = 0.7, eps = 0.05 }",
      1, 0, 0.05, 0.7, false, true },
    { "hyper { streams = 3, mix = false, eps = 1e-3 }", 3, 0, 1e-3, 2, false, true },
};
/* clang-format on */

static void every_row_is_its_definition(void **state) {
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Reference r = { .residual = row[i].residual, .eps = 0.01, .options = &row[i] };
        reference_check(state, &r, mix);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_row_is_its_definition) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
