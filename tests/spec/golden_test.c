/* SPDX-License-Identifier: MIT
** The Lua library against the golden cases: the spec a case describes must
** have exactly its parameters, and the float64 interpreter must compute its
** logits, losses and gradients, to the rounding of the file's float32.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "passes.h"
#include "scratch_spec.h"

/* == Parameters =========================================================== */

/* The parameter that has a tensor of that name. */
static const Node *find_param(const Graph *g, const char *name) {
    char own[512];
    for (int i = 0; i < g->nparam; i++)
        for (int64_t k = 0; k < param_tensors(g->param[i].node); k++) {
            param_tensor_name(g->param[i].node, k, own, sizeof own);
            if (!strcmp(own, name)) return g->param[i].node;
        }
    return NULL;
}

static void check_parameters(const Model *m, const Golden *c) {
    int count = 0, at = 0, rank;
    const int64_t *shape;
    for (const char *name; (name = golden_parameter(c, &at, &rank, &shape)); count++) {
        const Node *n = find_param(m->graph, name);
        if (!n) fail_msg("the spec has no parameter '%s'", name);
        Shape s = param_tensor_shape(n);
        assert_int_equal(s.rank, rank);
        for (int k = 0; k < rank; k++)
            assert_int_equal(s.dim[k], shape[k]);
    }
    if (graph_tensors(m->graph) != count)
        fail_msg("the spec has %d parameters, the case %d", (int)graph_tensors(m->graph), count);
}

typedef struct Values {
    const Golden *c;
    int count;
    const Node *param[1024];
    double *value[1024];
} Values;

static const double *param_value(void *user, const Node *param) {
    Values *v = user;
    for (int i = 0; i < v->count; i++)
        if (!strcmp(v->param[i]->attr->name, param->attr->name)) return v->value[i];
    assert_true(v->count < 1024);
    v->param[v->count] = param;
    return v->value[v->count++] = golden_values(v->c, "", param->attr->name, NULL);
}

/* == Comparing ============================================================ */

static double largest(const double *x, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* |got - want| <= 1e-6 of the largest entry, or of 'floor' if that is more. */
static void check_values(const char *what, const double *got, const double *want, int64_t count,
                         double floor) {
    double scale = fmax(largest(want, count), floor);
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-6 * scale))
            fail_msg("%s: element %lld is %.9g, expected %.9g", what, (long long)i, got[i],
                     want[i]);
}

static void check_output(const Eval *ev, const Graph *g, const Golden *c, const char *output) {
    int64_t count;
    double *want = golden_values(c, "expect.", output, &count);
    const double *got = eval_value(ev, graph_find(g, output));
    if (count > 1) check_values(output, got, want, count, 0);
    else assert_true(fabs(*got - *want) <= 1e-10 * fabs(*want));
    free(want);
}

static double largest_gradient(const Graph *g, const Golden *c) {
    double most = 0;
    for (int i = 0; i < g->nparam; i++) {
        int64_t count;
        double *want = golden_values_if(c, "expect.grad.", g->param[i].node->attr->name, &count);
        most = fmax(most, largest(want, count));
        free(want);
    }
    return most;
}

/* What is exactly zero in the case is so here, too. */
static void check_gradients(const Eval *ev, const Graph *g, const Golden *c) {
    double floor = 1e-3 * largest_gradient(g, c);
    for (int i = 0; i < g->nparam; i++) {
        char output[512];
        int64_t count;
        const char *name = g->param[i].node->attr->name;
        double *want = golden_values_if(c, "expect.grad.", name, &count);
        if (!want) continue; /* no gradient trains it */
        snprintf(output, sizeof output, "grad.%s", name);
        const Node *n = graph_find(g, output);
        if (!n) fail_msg("there is no gradient for '%s'", name);
        check_values(output, eval_value(ev, n), want, count, largest(want, count) == 0 ? 0 : floor);
        free(want);
    }
}

/* == One case ============================================================= */

static Model *load_case(void **state, const Golden *c, const char *name) {
    char *text = golden_spec(c, name);
    Model *m = scratch_model(state, "%s", text);
    free(text);
    return m;
}

static void check_case(void **state, const char *name) {
    char path[1024];
    Golden c;
    if (!golden_path(name, path, sizeof path)) skip();
    golden_open(&c, path);
    Model *m = load_case(state, &c, name);
    check_parameters(m, &c);
    pass_gradient(m->graph);
    graph_verify(m->graph);
    Values values = { .c = &c };
    EvalInput in = { .batch = c.batch,
                     .time = c.time,
                     .tokens = c.tokens,
                     .targets = c.targets,
                     .param = param_value,
                     .user = &values,
                     .seed = 1 };
    Eval *ev = eval_new(m->graph, &in);
    check_output(ev, m->graph, &c, "logits");
    check_output(ev, m->graph, &c, "loss");
    check_output(ev, m->graph, &c, "cross_entropy");
    if (golden_has_gradients(&c)) check_gradients(ev, m->graph, &c);
    eval_free(ev);
    for (int i = 0; i < values.count; i++)
        free(values.value[i]);
    spec_free(m);
    golden_close(&c);
}

#define CASE(name) \
    static void test_##name(void **state) { check_case(state, #name); }
#include "golden_cases.def"

int main(void) {
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test(test_##name),
#include "golden_cases.def"
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
