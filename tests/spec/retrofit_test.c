/* SPDX-License-Identifier: MIT
** Mixers under the weights of a plain residual stream: with parameters of their own at their
** initial values, which compute the same function at first, and which do not.  Norms have an eps
** of 0: with another one, a stream of another scale is normed to a little less.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"
#include "scratch.h"

static const Param *find(const Model *m, const char *name) {
    for (int i = 0; i < m->graph->nparam; i++)
        if (!strcmp(m->graph->param[i].node->attr->name, name)) return &m->graph->param[i];
    return NULL;
}

/* Values that the case drew are uniform within 0.9 of 0: good enough for normal ones. */
static void initialize(const Param *p, double *value) {
    int64_t count = shape_count(&p->node->shape);
    assert_true(p->init.kind != INIT_UNIFORM);
    for (int64_t k = 0; k < count; k++)
        value[k] = p->init.kind == INIT_NORMAL ? value[k] * p->init.value
            : p->init.kind == INIT_LIST        ? p->init.list[k]
                                               : p->init.value;
}

/* By how much logits of the standard stream's weights differ under 'residual', of their largest. */
static double difference(void **state, const char *residual) {
    Reference plain = { .residual = "standard {}", .eps = 0 };
    Reference other = { .residual = residual, .eps = 0 };
    double most = 0, largest = 0;
    reference_open(state, &plain);
    reference_open(state, &other);
    for (int i = 0; i < other.m->graph->nparam; i++) {
        const Param *p = &other.m->graph->param[i];
        if (!find(plain.m, p->node->attr->name)) initialize(p, other.c->value[i]);
    }
    double *want = reference_logits(&plain), *got = reference_logits(&other);
    for (int i = 0; i < T * V; i++) {
        most = fmax(most, fabs(got[i] - want[i]));
        largest = fmax(largest, fabs(want[i]));
        if (isnan(got[i])) most = INFINITY;
    }
    free(want);
    free(got);
    reference_close(&plain);
    reference_close(&other);
    return most / largest;
}

static void start_equal(void **state) {
    static const char *const mixers[] = {
        "standard {}",
        "residual_scaling {}",
        "depth_scaled {}",
        "denseformer {}",
        "denseformer { dilation = 2, period = 3 }",
        "hyper { streams = 3 }",
        "hyper { streams = 1 }",
        "hyper { streams = 4, dynamic = false }",
        "hyper { streams = 4, mix = false }",
        "attnres { full = true }",
        "attnres { blocks = 3 }",
        "attnres { blocks = 3, heads = 2, query = 'input' }",
        "attnres { block_size = 2, query = 'static' }",
        "attnres { blocks = 3, kernel = 'sigmoid', key_norm = false }",
        /* offered */
        "rezero { init = 'residual' }",
        "rezero { init = 1 }",
        "layerscale { init = 'residual' }",
        "highway { init = 'residual' }",
        "highway { gate = 'scalar', init = 'residual' }",
        "residual_gate { init = 'residual' }",
        "residual_gate { temperature = 0.9, init = 'residual' }",
        "haares { blocks = 3, init = 'residual' }",
        "haares { block_size = 2, heads = 4, bias = 1.5, init = 'residual' }",
        "haares { blocks = 2, detail = 'duplicate', kernel = 'sigmoid', init = 'residual' }",
        "mhc { streams = 3, init = 'residual' }",
        "mhc { streams = 3, start = 'softmax', head = 'learned', init = 'residual' }",
        "mhc { streams = 3, lite = true, init = 'residual' }",
        "gated_residual { streams = 3, rank = 2, init = 'residual' }",
        "drr { heads = 2, causal = true, chunk = 2, init = 'residual' }",
        "drr { heads = 2, block_layers = 1, causal = true, chunk = 2, query = 'learned', "
        "init = 'residual' }",
    };
    for (int i = 0; i < (int)(sizeof mixers / sizeof *mixers); i++) {
        double d = difference(state, mixers[i]);
        if (!(d <= 1e-11)) fail_msg("%s: logits differ by %g", mixers[i], d);
    }
}

/* As published they are other functions: what 'init' is for. */
static void start_apart(void **state) {
    static const char *const mixers[] = {
        "rezero {}",
        "layerscale {}",
        "highway {}",
        "residual_gate {}",
        "haares { blocks = 3 }",
        "mhc { streams = 3 }",
        "mhc { streams = 3, lite = true }",
        "gated_residual { streams = 3, rank = 2 }",
        "drr { heads = 2, causal = true, chunk = 2 }",
        "attnres { full = true, window = 2 }",
        "attnres { blocks = 3, kernel = 'linear' }",
    };
    for (int i = 0; i < (int)(sizeof mixers / sizeof *mixers); i++) {
        double d = difference(state, mixers[i]);
        if (!(d >= 1e-3)) fail_msg("%s: logits differ by no more than %g", mixers[i], d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(start_equal),
                                        cmocka_unit_test(start_apart) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
