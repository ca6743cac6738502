/* SPDX-License-Identifier: MIT
** Mixers of one stream that is scaled as it grows, against their formulas. */
#include "test.h"

#include <math.h>

#include "reference.h"
#include "scratch.h"

typedef void Add(Reference *r, int s, const double *u, double *h);

static void go(Reference *r, double x[T][D], Add *add) {
    for (int t = 0; t < T; t++)
        for (int s = 0; s < S; s++) {
            double u[D];
            sublayer(r, s, x[t], u);
            add(r, s, u, x[t]);
        }
}

/* The parameter of a name at the site of sublayer s. */
static const double *at(Reference *r, int s, const char *name) {
    char site[48];
    site_name(s, site);
    return P(r, "%s.residual.%s", site, name);
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static void add_gated(Reference *r, int s, const double *u, double *h) {
    const double *options = r->options, *gate = at(r, s, "gate");
    for (int d = 0; d < D; d++) {
        double g = gate[d] / options[0], beta = sigmoid(g);
        h[d] = sqrt(fmax(sigmoid(-g) * (1 + beta), options[1])) * h[d] + beta * u[d];
    }
}

static void add_scaled_by_depth(Reference *r, int s, const double *u, double *h) {
    double n = s + 2;
    (void)r;
    for (int d = 0; d < D; d++)
        h[d] = sqrt((n - 1) / n) * h[d] + sqrt(1 / n) * u[d];
}

static void add_both_scaled(Reference *r, int s, const double *u, double *h) {
    const double *b1 = at(r, s, "stream.bias"), *s1 = at(r, s, "stream.scale");
    const double *b2 = at(r, s, "output.bias"), *s2 = at(r, s, "output.scale");
    for (int d = 0; d < D; d++)
        h[d] = (h[d] + b1[d]) * s1[d] + (u[d] + b2[d]) * s2[d];
}

static void mix_gated(Reference *r, double x[T][D]) { go(r, x, add_gated); }
static void mix_scaled_by_depth(Reference *r, double x[T][D]) { go(r, x, add_scaled_by_depth); }
static void mix_both_scaled(Reference *r, double x[T][D]) { go(r, x, add_both_scaled); }

static void residual_gate(void **state) {
    static const double usual[] = { 0.3, 1e-3 }, other[] = { 0.9, 0.4 };
    Reference r = { .residual = "residual_gate {}", .eps = 1e-6, .options = usual };
    reference_check(state, &r, mix_gated);
    r = (Reference){ .residual = "residual_gate { temperature = 0.9, eps = 0.4 }",
                     .eps = 1e-6,
                     .options = other };
    reference_check(state, &r, mix_gated);
}

static void depth_scaled(void **state) {
    Reference r = { .residual = "depth_scaled {}", .eps = 1e-6 };
    reference_check(state, &r, mix_scaled_by_depth);
}

static void residual_scaling(void **state) {
    Reference r = { .residual = "residual_scaling {}", .eps = 1e-6 };
    reference_check(state, &r, mix_both_scaled);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(residual_gate),
                                        cmocka_unit_test(depth_scaled),
                                        cmocka_unit_test(residual_scaling) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
