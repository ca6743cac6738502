/* SPDX-License-Identifier: MIT
** The library's recurrent sublayers: where decays start, and softplus at its ends. */
#include "test.h"

#include <math.h>
#include <string.h>

#include "load_spec.h"
#include "numeric.h"
#include "scratch.h"

static const Param *param_of(const Model *m, const char *name) {
    const Param *p = graph_find_param(m->graph, name);
    assert_non_null(p);
    return p;
}

static Model *small(void **state) {
    Error error;
    Model *m = load_spec_text(state, "small.lua",
                              "return model { name = 'm', vocab = 5, context = 16, dim = 8, norm = "
                              "rmsnorm {}, layers = { layer { kda { heads = 2 } } } }",
                              NULL, &error);
    if (!m) fail_msg("%s", error.text);
    return m;
}

/* Rates from 1 to 16, steps from 0.001 to 0.1, evenly in their logarithms: a program draws them. */
static void decays_start_where_they_should(void **state) {
    Model *m = small(state);
    const Param *rate = param_of(m, "layers.0.attention.decay_log"),
                *bias = param_of(m, "layers.0.attention.decay_bias");
    assert_true(rate->init.kind == INIT_UNIFORM && bias->init.kind == INIT_UNIFORM);
    int64_t n = rate->init.points;
    assert_true(n > 100 && bias->init.points == n);
    for (int64_t i = 0; i < n; i++) {
        double share = (double)i / (double)(n - 1), step = log1p(exp(bias->init.list[i]));
        assert_true(fabs(rate->init.list[i] - log(1 + 15 * share)) < 1e-12);
        assert_true(fabs(step / (0.001 * pow(100, share)) - 1) < 1e-9);
    }
    assert_true(param_of(m, "layers.0.attention.k_conv.weight")->init.kind == INIT_NORMAL);
    spec_free(m);
}

/* What softplus is of is the bias alone here: 0, far on either side, near 0. */
static void softplus_has_its_gradient_everywhere(void **state) {
    static const double bias[] = { 0, 60, -60, 1e-3, -1e-3, 3, 0, -9 };
    Model *m = small(state);
    Graph *g = graph_extract(m->graph, (const char *const[]){ "loss", NULL });
    Case *c = case_new(g, 3, 1, 6, 5, -1, 1);
    for (int i = 0; i < g->nparam; i++) {
        const char *name = g->param[i].node->attr->name;
        int64_t count = shape_count(&g->param[i].node->shape);
        for (int64_t k = 0; k < count && strstr(name, ".decay_"); k++)
            c->value[i][k] = strstr(name, "_bias") ? bias[k] : strstr(name, "_log") ? -1 : 0;
    }
    double error = case_gradient_error(c, op_info);
    if (!(error <= 10 * GRADIENT_TOLERANCE)) fail_msg("off by %g", error);
    case_free(c);
    graph_free(g);
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decays_start_where_they_should),
        cmocka_unit_test(softplus_has_its_gradient_everywhere),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
