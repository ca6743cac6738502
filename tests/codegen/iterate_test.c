/* SPDX-License-Identifier: MIT
** Iterations: compiled, against the interpreter, for matrices that lie in lanes or in rows, of
** tokens or of none, for so many that the way back is taken in stretches; and that how many there
** are changes neither the graph nor the code.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "pipeline.h"
#include "planned.h"
#include "scratch_spec.h"
#include "small_model.h"

/* == Values and gradients ================================================= */

typedef struct Iterated {
    Shape x;
    int64_t iterations;
    int stored;  /* 0: x is computed where it is read, 1: in memory, 2: of parameters alone */
    bool listed; /* it is a view of sources that lie apart */
} Iterated;

#define M(rank_, ...)                         \
    {                                         \
        .rank = rank_, .dim = { __VA_ARGS__ } \
    }
static const Iterated iterated[] = {
    { M(2, 4, 4), 20, 0, false },     { M(2, 4, 4), 1, 1, false },
    { M(2, 4, 4), 1000, 0, false },   { M(2, 3, 5), 64, 2, false },
    { M(2, 8, 8), 65, 1, false },     { M(2, 2, 2), 4200, 1, false },
    { M(2, 9, 9), 20, 1, false },     { M(2, 17, 5), 130, 0, false },
    { M(2, 1, 6), 3, 0, false },      { M(2, 6, 1), 3, 1, false },
    { M(3, 3, 4, 4), 66, 0, false },  { M(4, 2, 3, 2, 3), 5, 1, false },
    { M(3, 2, 12, 17), 7, 2, false }, { M(2, 40, 33), 3, 0, false },
    { M(2, 5, 24), 4, 1, true },      { M(2, 20, 40), 3, 1, true },
};
enum { ITERATED_CASES = sizeof iterated / sizeof *iterated };

static Node *sources(Probe *p, const Shape *s) {
    Node *part[64];
    Shape row = { .rank = 1, .dim = { s->dim[1] } };
    for (int i = 0; i < s->dim[0]; i++)
        part[i] = i % 2 ? probe_rows(p, row) : probe_stored(p, row);
    return op_stack(p->g, (int)s->dim[0], part);
}

/* Of elements so different that it takes many iterations until they move no more. */
static Node *operand(Probe *p, const Iterated *c) {
    Node *x = c->listed  ? sources(p, &c->x)
        : c->stored == 0 ? probe_rows(p, c->x)
        : c->stored == 1 ? probe_stored(p, c->x)
                         : probe_param(p, c->x);
    return op_exp(op_scale(op_tanh(x), 4));
}

static const Extent extents[] = { { 1, 1 }, { 1, 7 }, { 3, 13 }, { 0 } };

typedef struct Trial {
    const Iterated *c;
    const char *cpu;
    bool check;
} Trial;

static int run_trial(void *arg) {
    const Trial *t = arg;
    char why[700] = "";
    const char *error;
    Probe p = probe_new(3, 8, 4);
    Node *x = operand(&p, t->c);
    Node *y = node_new(p.g, OP_sinkhorn, 1, &x, (Attr){ .count = t->c->iterations }, &error);
    probe_read(&p, p.x);
    probe_read(&p, y);
    probe_read(&p, op_mul(y, op_sigmoid(x)));
    CodegenOptions o = { .cpu = t->cpu, .passes.check = t->check };
    if (graph_answer(probe_end(&p, NULL), 7, &o, extents, why, sizeof why) == AGREES) return 0;
    fprintf(stderr, "case %d, %s%s: %s\n", (int)(t->c - iterated), t->cpu,
            t->check ? ", checked" : "", why);
    return 1;
}

/* Each case for one processor, in turn. */
static void they_agree(void **state) {
    (void)state;
    const char *const *cpu = compiled_cpus();
    int failures = 0, cpus = 0;
    while (cpu[cpus])
        cpus++;
    for (int i = 0; i < ITERATED_CASES; i += compiled_every()) {
        Trial t = { &iterated[i], cpu[(cpus - 1 + i) % cpus], i % 4 == 3 };
        failures += apart(run_trial, &t) != 0;
    }
    assert_int_equal(failures, 0);
}

/* Two layers, in kernels that differ by what the sums begin with alone. */
static int run_layers(void *arg) {
    static const double begins[] = { 0, 0.5 };
    const Extent extent[] = { { 3, 13 }, { 0 } };
    char why[700] = "";
    const char *error;
    (void)arg;
    Probe p = probe_new(3, 8, 1);
    for (int i = 0; i < 2; i++) {
        Node *x = op_exp(probe_stored(&p, (Shape)M(2, 4, 4)));
        Attr a = { .count = 3, .value = begins[i] };
        Node *y = node_new(p.g, OP_sinkhorn, 1, &x, a, &error);
        y = op_reshape(y, &(Shape){ .rank = 1, .dim = { 16 } });
        p.x = op_linear(y, probe_param(&p, probe_shape(2, (int64_t[]){ 8, 16 })));
    }
    probe_read(&p, p.x);
    CodegenOptions o = { .cpu = "native" };
    if (graph_answer(probe_end(&p, NULL), 7, &o, extent, why, sizeof why) == AGREES) return 0;
    fprintf(stderr, "layers: %s\n", why);
    return 1;
}

static void each_layer_has_its_own_eps(void **state) {
    (void)state;
    assert_int_equal(apart(run_layers, NULL), 0);
}

/* == Stretches ============================================================ */

/* Of one operation after another, with so many iterations each, up to 0. */
static Graph *chained(const Shape *s, const int *iterations) {
    const char *error;
    Probe p = probe_new(3, 8, 4);
    Node *x = op_exp(op_scale(op_tanh(probe_stored(&p, *s)), 4));
    for (; *iterations; iterations++)
        x = node_new(p.g, OP_sinkhorn, 1, &x, (Attr){ .count = *iterations }, &error);
    probe_read(&p, x);
    return probe_end(&p, NULL);
}

/* malloc'ed */
static float *gradients_of_chain(const Shape *s, const int *iterations, int64_t *count) {
    enum { SEQUENCES = 3, LENGTH = 13 };
    Compiled c;
    Instance r;
    strata_loss loss;
    Graph *g = chained(s, iterations);
    ModelInfo info = compiled_info(g, LENGTH);
    compiled_open(&c, g, &info, &(CodegenOptions){ .cpu = "native" });
    instance_open(&r, &c, SEQUENCES * LENGTH, 1);
    Case *values = compiled_case(g, 5, SEQUENCES, LENGTH, c.model->vocab);
    instance_weights(&r, values);
    float *gradients = gradients_of(&r, values->tokens, values->targets, SEQUENCES, LENGTH, &loss);
    *count = c.model->gradients;
    case_free(values);
    instance_close(&r);
    compiled_close(&c);
    graph_free(g);
    return gradients;
}

/* What stretches make again is what was there. */
static void stretches_give_the_same_bits(void **state) {
    (void)state;
    static const Shape shapes[] = { M(2, 3, 3), M(2, 9, 9) };
    for (int i = 0; i < 2; i++) {
        int64_t n, m;
        float *whole = gradients_of_chain(&shapes[i], (const int[]){ 193, 0 }, &n),
              *parts = gradients_of_chain(&shapes[i], (const int[]){ 60, 50, 64, 19, 0 }, &m);
        assert_int_equal(n, m);
        assert_memory_equal(whole, parts, (size_t)n * sizeof *whole);
        free(whole), free(parts);
    }
}

/* == Graph and code ======================================================= */

typedef struct Sizes {
    int nodes, steps;
    size_t code;
} Sizes;

static Sizes sizes_of(void **state, int iterations) {
    Error why;
    CompiledModel code;
    Model *m =
        scratch_model(state,
                      "return model { name = 'm', vocab = 20, context = 8, dim = 16,\n"
                      "  norm = rmsnorm {}, residual = mhc { streams = 3, iterations = %d },\n"
                      "  layers = times(2, layer { mlp { hidden = 16 } }) }\n",
                      iterations);
    ModelInfo info = spec_info(m);
    CodegenOptions o = { .cpu = "x86-64-v3", .emit = EMIT_OBJ, .prefix = "m" };
    ModelPlans plans = plans_make(m->graph, NULL, NULL, &o.passes);
    Sizes s = { m->graph->n, plans.plan[PROGRAM_TRAIN]->nstep, 0 };
    for (int i = 0; i < PROGRAMS; i++)
        if (plans.plan[i]) graph_free(plans.plan[i]->g);
    assert_int_equal(planned_compile(m->graph, &info, &o, &code, &why), 0);
    s.code = code.size;
    codegen_free(&code);
    spec_free(m);
    return s;
}

/* Only loops that end where they begin may fold: one iteration, or one stretch. */
static void their_number_changes_no_size(void **state) {
    Sizes few = sizes_of(state, 10), more = sizes_of(state, 60), many = sizes_of(state, 1000);
    assert_int_equal(few.nodes, many.nodes);
    assert_int_equal(few.steps, many.steps);
    assert_true(more.code < few.code + few.code / 50);
    assert_true(many.code < few.code + few.code / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_agree),
        cmocka_unit_test(each_layer_has_its_own_eps),
        cmocka_unit_test(stretches_give_the_same_bits),
        cmocka_unit_test(their_number_changes_no_size),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
