/* SPDX-License-Identifier: MIT
** Compiled programs against expected results in files: the golden cases, where
** they are (golden.h), and a small set of the project's own in tests/golden,
** which the interpreter wrote after it agreed with the golden cases; so the
** interpreter must still compute them, too.
**   golden_program_test --write tests/golden      writes the own set anew
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "golden.h"
#include "golden_write.h"
#include "passes.h"
#include "scratch.h"

/* Details that the golden cases leave out, then the published definitions, small. */
static const char *const own_cases[] = {
    "rotations",       "depth_reads",   "details",        "averages", "lite",          "chunks",
    "pools",           "standard",      "static_streams", "rezero",   "layerscale",    "highway",
    "denseformer",     "attnres_block", "attnres_full",   "haares",   "attnres_input", "hyper",
    "attnres_sigmoid", "mhc",           "gated_residual", "drr",      "dtr",           "mod",
    "experts",         "expert_groups",
};
enum { OWN = sizeof own_cases / sizeof *own_cases };

/* == Comparing ============================================================ */

static double largest(const double *x, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

static void check_values(const char *what, const float *got, const double *want, int64_t count,
                         double allowed) {
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= allowed))
            fail_msg("%s: element %lld is %.9g, expected %.9g", what, (long long)i, got[i],
                     want[i]);
}

static double golden_number(const Golden *g, const char *name) {
    double *x = golden_values(g, "expect.", name, NULL), value = *x;
    free(x);
    return value;
}

static void set_weights(Instance *r, const Golden *g) {
    int at = 0, rank, tensors = 0;
    const int64_t *shape;
    guarded_writable(&r->weights, true);
    for (const char *name; (name = golden_parameter(g, &at, &rank, &shape)); tensors++) {
        int64_t count, want;
        double *values = golden_values(g, "", name, &count);
        float *w = instance_weight(r, name, &want);
        assert_int_equal(count, want);
        for (int64_t i = 0; i < count; i++)
            w[i] = (float)values[i];
        free(values);
    }
    guarded_writable(&r->weights, false);
    assert_int_equal(tensors, r->c->model->tensors);
}

static void check_logits(Instance *r, const Golden *g) {
    int64_t count;
    double *want = golden_values(g, "expect.", "logits", &count);
    float *got = logits_of(r, g->tokens, g->batch, g->time);
    check_values("logits", got, want, count, 3e-5 * largest(want, count));
    free(want), free(got);
}

static double largest_gradient(const Golden *g) {
    int at = 0, rank;
    const int64_t *shape;
    double most = 0;
    for (const char *name; (name = golden_parameter(g, &at, &rank, &shape));) {
        int64_t count;
        double *want = golden_values_if(g, "expect.grad.", name, &count);
        most = fmax(most, largest(want, count));
        free(want);
    }
    return most;
}

static void check_gradients(Instance *r, const Golden *g) {
    int at = 0, rank;
    const int64_t *shape;
    strata_loss loss = { .struct_size = sizeof loss };
    double want_loss = golden_number(g, "loss");
    free(gradients_of(r, g->tokens, g->targets, g->batch, g->time, &loss));
    assert_true(fabs(loss.loss - want_loss) <= 3e-5 * fabs(want_loss));
    assert_true(fabs(loss.cross_entropy - golden_number(g, "cross_entropy"))
                <= 3e-5 * fabs(want_loss));
    if (!golden_has_gradients(g)) return;
    double floor = 1e-3 * largest_gradient(g);
    for (const char *name; (name = golden_parameter(g, &at, &rank, &shape));) {
        int64_t count;
        double *want = golden_values_if(g, "expect.grad.", name, &count);
        if (!want) continue; /* no gradient trains it */
        check_values(name, instance_gradient(r, name), want, count,
                     5e-4 * fmax(largest(want, count), floor));
        free(want);
    }
}

/* 'lua' NULL: the spec is at 'spec'. */
static void check_products(const Golden *g, const char *spec, const char *lua, Products by) {
    Built b;
    Instance r;
    CodegenOptions o = { .cpu = "native", .level = by ? 0 : 2, .products = by };
    built_open(&b, spec, lua, &o);
    instance_open(&r, &b.c, g->batch * g->time, 1);
    set_weights(&r, g);
    check_logits(&r, g);
    check_gradients(&r, g);
    instance_close(&r);
    built_close(&b);
}

static void check_program(const Golden *g, const char *spec, const char *lua) {
    check_products(g, spec, lua, PRODUCTS_GENERATED);
    if (compiled_openblas()) check_products(g, spec, lua, PRODUCTS_OPENBLAS);
}

/* == Golden cases ========================================================= */

static void check_case(void **state, const char *name) {
    char path[1024], spec[SCRATCH_PATH];
    Golden g;
    if (!golden_path(name, path, sizeof path)) skip();
    golden_open(&g, path);
    char *lua = golden_spec(&g, name);
    check_program(&g, scratch_path(state, "golden.lua", spec), lua);
    free(lua);
    golden_close(&g);
}

#define CASE(name) \
    static void test_##name(void **state) { check_case(state, #name); }
#include "golden_cases.def"

/* == The project's own ==================================================== */

static void own_path(const char *folder, const char *name, const char *suffix, char *path,
                     size_t size) {
    snprintf(path, size, "%s/%s.%s", folder, name, suffix);
}

typedef struct Values {
    const Golden *g;
    int count;
    const char *name[256];
    double *value[256];
} Values;

static const double *param_value(void *user, const Node *param) {
    Values *v = user;
    for (int i = 0; i < v->count; i++)
        if (!strcmp(v->name[i], param->attr->name)) return v->value[i];
    assert_true(v->count < 256);
    v->name[v->count] = param->attr->name;
    return v->value[v->count++] = golden_values(v->g, "", param->attr->name, NULL);
}

/* The interpreter's results are the file's, to the rounding of its float32. */
static void check_interpreter(const Golden *g, const char *spec) {
    Error error;
    Model *m = spec_load(spec, NULL, &error);
    if (!m) fail_msg("%s", error.text);
    pass_gradient(m->graph);
    Values v = { .g = g };
    EvalInput in = { .batch = g->batch,
                     .time = g->time,
                     .tokens = g->tokens,
                     .targets = g->targets,
                     .param = param_value,
                     .user = &v,
                     .seed = 1 };
    Eval *ev = eval_new(m->graph, &in);
    for (int i = 0; i < m->graph->nout; i++) {
        const char *name = m->graph->out[i].name;
        int64_t count;
        if (!strcmp(name, "nll")) continue;
        double *want = golden_values_if(g, "expect.", name, &count);
        const double *got = eval_value(ev, m->graph->out[i].node);
        if (!want) continue; /* what is summed for a buffer */
        for (int64_t k = 0; k < count; k++)
            assert_true(fabs(got[k] - want[k]) <= 1e-6 * largest(want, count));
        free(want);
    }
    eval_free(ev);
    for (int i = 0; i < v.count; i++)
        free(v.value[i]);
    spec_free(m);
}

static void own_cases_agree(void **state) {
    (void)state;
    for (int i = 0; i < OWN; i++) {
        char spec[1024], path[1024];
        Golden g;
        own_path(SOURCE_DIR "/tests/golden", own_cases[i], "lua", spec, sizeof spec);
        own_path(SOURCE_DIR "/tests/golden", own_cases[i], "safetensors", path, sizeof path);
        golden_open(&g, path);
        check_interpreter(&g, spec);
        check_program(&g, spec, NULL);
        golden_close(&g);
    }
}

/* == Writing them ========================================================= */

static void write_output(GoldenOut *out, const Expected *e, const char *output, int rank,
                         const int64_t *shape) {
    char name[600];
    snprintf(name, sizeof name, "expect.%s", output);
    golden_out_values(out, name, rank, shape, eval_value(e->ev, graph_find(e->g, output)));
}

/* A parameter's tensors, and their gradients. */
static void write_tensors(GoldenOut *out, const Expected *e, const Node *p, const double *value) {
    char name[256], output[500];
    Shape s = param_tensor_shape(p);
    snprintf(output, sizeof output, "grad.%s", p->attr->name);
    const Node *n = p->attr->buffer ? NULL : graph_find(e->g, output);
    const double *gradient = n ? eval_value(e->ev, n) : NULL;
    for (int64_t k = 0; k < param_tensors(p); k++) {
        param_tensor_name(p, k, name, sizeof name);
        snprintf(output, sizeof output, "expect.grad.%s", name);
        golden_out_values(out, name, s.rank, s.dim, value + k * shape_count(&s));
        if (gradient) golden_out_values(out, output, s.rank, s.dim, gradient + k * shape_count(&s));
    }
}

static void write_values(GoldenOut *out, const Case *c, const Expected *e) {
    int64_t ids[] = { c->batch, c->time },
            logits[] = { c->batch, c->time, graph_find(c->g, "logits")->shape.dim[0] };
    golden_out_ids(out, "tokens", 2, ids, c->tokens);
    golden_out_ids(out, "targets", 2, ids, c->targets);
    golden_out_number(out, "expect.loss", *eval_value(e->ev, graph_find(e->g, "loss")));
    golden_out_number(out, "expect.cross_entropy",
                      *eval_value(e->ev, graph_find(e->g, "cross_entropy")));
    write_output(out, e, "logits", 3, logits);
    for (int i = 0; i < c->g->nparam; i++)
        write_tensors(out, e, c->g->param[i].node, c->value[i]);
}

static int write_own(const char *folder, const char *name) {
    char spec[1024], path[1024];
    Error error;
    own_path(folder, name, "lua", spec, sizeof spec);
    own_path(folder, name, "safetensors", path, sizeof path);
    Model *m = spec_load(spec, NULL, &error);
    if (!m) return fprintf(stderr, "%s\n", error.text), 1;
    Case *c = compiled_case(m->graph, 2026, 2, m->context - 3, (int)m->vocab);
    Expected e;
    GoldenOut *out = golden_out_new();
    expected_open(&e, c, op_info);
    write_values(out, c, &e);
    golden_out_write(out, path);
    expected_close(&e);
    case_free(c);
    spec_free(m);
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test(test_##name),
#include "golden_cases.def"
        cmocka_unit_test(own_cases_agree),
    };
    if (argc == 3 && !strcmp(argv[1], "--write")) {
        int status = 0;
        for (int i = 0; i < OWN && !status; i++)
            status = write_own(argv[2], own_cases[i]);
        return status;
    }
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
