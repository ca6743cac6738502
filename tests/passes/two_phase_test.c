/* SPDX-License-Identifier: MIT
** Two-phase depth reads: the same numbers as reads one by one, for every mixer
** that they apply to, with fewer loads of sources; nothing where queries depend on
** activations; and whether a wrong one would be noticed.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen.h"
#include "planned.h"
#include "compiled_spec.h"
#include "passes.h"
#include "graph_file.h"
#include "numeric.h"
#include "plan.h"
#include "rebuild.h"
#include "rows.h"
#include "scratch.h"
#include "two_phase_model.h"

enum { BATCH = 2, TIME = 19 };

/* Weights that depend on activations, sources that nobody shares, or no sum over sources. */
static const char *const does_not[] = {
    "standard {}",
    "highway {}",
    "attnres { full = true, query = 'input' }",
    "haares { blocks = 3, query = 'input' }",
    "attnres { block_size = 3, kernel = 'linear' }",
    "attnres { full = true, kernel = 'linear', window = 4 }",
    "hyper { streams = 3 }",
    "hyper { streams = 3, dynamic = false }",
    "drr { heads = 2, causal = true, chunk = 4 }",
    "drr { heads = 2, causal = true, chunk = 4, query = 'learned' }",
    "attnres { block_size = 10 }",
};
enum { DOES_NOT = sizeof does_not / sizeof *does_not };

static int count_op(const Graph *g, Op op) {
    int n = 0;
    for (int i = 0; i < g->n; i++)
        n += g->node[i]->op == op;
    return n;
}

/* == Where it applies ===================================================== */

static void it_applies_where_sources_are_shared(void **state) {
    for (int i = 0; i < APPLIES; i++) {
        Model *m = two_phase_load(state, two_phase_applies[i], 5, 16);
        Graph *g = pass_two_phase(graph_copy(m->graph), TWO_PHASE_ON);
        graph_verify(g);
        if (!count_op(g, OP_after)) fail_msg("%s: reads are left apart", two_phase_applies[i]);
        graph_free(g);
        spec_free(m);
    }
}

static void it_does_nothing_elsewhere(void **state) {
    for (int i = 0; i < DOES_NOT; i++) {
        Model *m = two_phase_load(state, does_not[i], 5, 16);
        Graph *on = pass_two_phase(graph_copy(m->graph), TWO_PHASE_ON),
              *off = pass_two_phase(graph_copy(m->graph), TWO_PHASE_OFF);
        char *a = graph_printed(on, true), *b = graph_printed(off, true);
        if (strcmp(a, b)) fail_msg("%s: changed", does_not[i]);
        free(a), free(b);
        graph_free(on), graph_free(off);
        spec_free(m);
    }
}

/* == Loads ================================================================ */

static Plan *plan(Graph *g) {
    g = pass_expand(pass_recompute(pass_simplify(g), KEEP_AUTO));
    graph_verify(g);
    Plan *p = pass_schedule(g, NULL);
    pass_memory(p, true);
    p->place = graph_alloc(p->g, ((size_t)p->g->n + 1) * sizeof *p->place);
    return p;
}

static Plan *plan_of(const Model *m, TwoPhase how, bool training) {
    Graph *two = pass_two_phase(graph_copy(m->graph), how);
    Graph *g = graph_extract(two,
                             training ? (const char *const[]){ "nll", "loss", NULL }
                                      : (const char *const[]){ "logits", NULL });
    if (training) pass_gradient(g);
    graph_free(two);
    return plan(g);
}

/* Rows of the model's width that row kernels read and write. */
static int rows_moved(const Plan *p, int64_t dim) {
    int n = 0;
    RowsShared shared = rows_shared(p);
    for (int i = 0; i < p->nstep; i++) {
        if (p->step[i].kind != STEP_ROW) continue;
        const Rows *r = rows_analyse(p, i, 8, shared);
        for (int k = 0; k < r->noperand; k++) {
            const Node *x = r->operand[k].node;
            n += x && x->shape.lead == LEAD_TOKENS && shape_count(&x->shape) == dim;
        }
    }
    return n;
}

static int moved(const Model *m, TwoPhase how, bool training) {
    Plan *p = plan_of(m, how, training);
    int n = rows_moved(p, m->dim);
    graph_free(p->g);
    return n;
}

/* Forward and backward; sublayers that read half as much, or at least less. */
static void sources_are_loaded_less(void **state) {
    static const struct {
        const char *residual;
        double share;
    } row[] = {
        { "attnres { full = true }", 0.6 },
        { "haares { blocks = 4 }", 0.9 },
        { "attnres { blocks = 4 }", 0.97 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Model *m = two_phase_load(state, row[i].residual, 12, 32);
        for (int training = 0; training < 2; training++) {
            int on = moved(m, TWO_PHASE_ON, training), off = moved(m, TWO_PHASE_OFF, training);
            print_message("%s: %d of %d, training %d\n", row[i].residual, on, off, training);
            if (on > row[i].share * off)
                fail_msg("%s: %d rows of %d, training %d", row[i].residual, on, off, training);
        }
        spec_free(m);
    }
}

static int moved_by_steps(const Model *m, TwoPhase how) {
    ModelInfo info = spec_info(m);
    CodegenOptions o = { .cpu = "x86-64-v3", .passes.two_phase = how };
    Planned p;
    Error why;
    assert_int_equal(planned_make(m->graph, &info, &o, &p, &why), 0);
    int n = rows_moved(p.plans.plan[PROGRAM_TRAIN], m->dim);
    planned_free(&p);
    return n;
}

/* Gradients take a read's partial result: from the shared sources again, 0.78 of the rows would be
** left that reads one by one move. */
static void partial_results_are_kept(void **state) {
    Model *m = two_phase_load(state, "haares { blocks = 4 }", 12, 96);
    int on = moved_by_steps(m, TWO_PHASE_ON), off = moved_by_steps(m, TWO_PHASE_OFF);
    print_message("%d of %d\n", on, off);
    assert_true(on < 0.74 * off);
    spec_free(m);
}

/* HAARES' D with the signs of halves is made of sums that are there anyway; given as signs, the
** same D is added up beside them. */
static void halves_move_less_than_signs(void **state) {
    Model *half = two_phase_load(state, "haares { block_size = 6 }", 12, 96),
          *signs = two_phase_load(state,
                                  "haares { block_size = 6, detail = 'random', "
                                  "signs = { 1, 1, 1, -1, -1, -1 } }",
                                  12, 96);
    int less = moved_by_steps(half, TWO_PHASE_ON), more = moved_by_steps(signs, TWO_PHASE_ON);
    print_message("%d, by signs %d\n", less, more);
    assert_true(less < more - 8); /* two writes in each of four blocks, but for their last places */
    spec_free(signs);
    spec_free(half);
}

/* A model wide enough for memory to matter; one whose reads have little to share, and that
** in cache, which counts for less. */
static void the_cost_model_decides(void **state) {
    static const struct {
        const char *residual;
        int layers, dim;
        bool pays;
    } row[] = {
        { "attnres { full = true }", 8, 512, true },
        { "attnres { block_size = 3 }", 2, 32, false },
        { "attnres { block_size = 3 }", 2, 4096, false },
        { "haares { blocks = 4 }", 8, 512, true },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Model *m = two_phase_load(state, row[i].residual, row[i].layers, row[i].dim);
        Graph *g = pass_two_phase(graph_copy(m->graph), TWO_PHASE_AUTO);
        if (!count_op(g, OP_after) == row[i].pays)
            fail_msg("%s, %d wide: decided otherwise", row[i].residual, row[i].dim);
        graph_free(g);
        spec_free(m);
    }
}

/* == In float64 =========================================================== */

/* A graph with gradients and their values. */
typedef struct Exact {
    Graph *g;
    Case *c;
    Eval *ev;
} Exact;

static void exact_open(Exact *x, Graph *g) {
    x->g = g;
    pass_gradient(g);
    x->c = case_new(g, 3, BATCH, TIME, VOCAB, -1, 1);
    EvalInput in = case_input(x->c);
    in.draw = 1234; /* both draw the same numbers */
    x->ev = eval_new(g, &in);
}

static void exact_close(Exact *x) {
    eval_free(x->ev);
    case_free(x->c);
    graph_free(x->g);
}

static double worst(double most, const double *a, const double *b, int64_t n) {
    double size = 1e-30, d = 0;
    for (int64_t i = 0; i < n; i++)
        d = fmax(d, fabs(a[i] - b[i])), size = fmax(size, fabs(b[i]));
    return fmax(most, d / size);
}

/* Logits and every gradient; relative to the largest element of each. */
static double exact_difference(const Exact *a, const Exact *b) {
    double most = 0;
    for (int i = 0; i < b->g->nout; i++) {
        const Node *y = b->g->out[i].node, *x = graph_find(a->g, b->g->out[i].name);
        assert_non_null(x);
        int64_t n = shape_count(&y->shape) * (y->shape.lead == LEAD_TOKENS ? BATCH * TIME : 1);
        most = worst(most, eval_value(a->ev, x), eval_value(b->ev, y), n);
    }
    return most;
}

/* How far apart, with the reads together changed by 'change'. */
static double apart_by(const Model *m, Graph *(*change)(Graph *g)) {
    Exact on, off;
    Graph *g = pass_two_phase(graph_copy(m->graph), TWO_PHASE_ON);
    exact_open(&on, change ? change(g) : g);
    exact_open(&off, pass_two_phase(graph_copy(m->graph), TWO_PHASE_OFF));
    double d = exact_difference(&on, &off);
    exact_close(&on), exact_close(&off);
    return d;
}

static void both_mean_the_same(void **state) {
    for (int i = 0; i < APPLIES; i++) {
        Model *m = two_phase_load(state, two_phase_applies[i], 5, 16);
        double d = apart_by(m, NULL);
        if (!(d < 1e-9)) fail_msg("%s: %.1e apart", two_phase_applies[i], d);
        spec_free(m);
    }
}

/* == Mistakes ============================================================= */

static Node *forget_peak(Rebuild *r, const Node *old, Node **in) {
    (void)r;
    return old->op == OP_max ? in[0] : NULL; /* exp(m - M) = 1 */
}

static Node *spoil_partial(Rebuild *r, const Node *old, Node **in) {
    return old->op == OP_after ? op_scale(rebuild_copy(r, old, in), 1.001) : NULL;
}

static Node *forget_order(Rebuild *r, const Node *old, Node **in) {
    (void)r;
    return old->op == OP_after ? in[0] : NULL;
}

static Graph *with_wrong_peak(Graph *g) {
    /* the partial sums of the first phase are of another maximum then */
    return rebuild(g, forget_peak, NULL);
}
static Graph *with_spoiled_partial(Graph *g) { return rebuild(g, spoil_partial, NULL); }
static Graph *without_order(Graph *g) { return rebuild(g, forget_order, NULL); }

static void a_wrong_merge_is_noticed(void **state) {
    Model *m = two_phase_load(state, "attnres { block_size = 3 }", 5, 16);
    assert_true(apart_by(m, with_spoiled_partial) > 1e-6);
    spec_free(m);
}

/* Any common number does in place of the maximum; order changes no number, but what is loaded. */
static void only_what_should_matters(void **state) {
    Model *m = two_phase_load(state, "attnres { full = true }", 8, 16);
    assert_true(apart_by(m, with_wrong_peak) < 1e-9);
    assert_true(apart_by(m, without_order) < 1e-12);
    Graph *two = without_order(pass_two_phase(graph_copy(m->graph), TWO_PHASE_ON));
    Graph *g = graph_extract(two, (const char *const[]){ "nll", "loss", NULL });
    pass_gradient(g);
    graph_free(two);
    Plan *loose = plan(g);
    assert_true(rows_moved(loose, m->dim) > 1.2 * moved(m, TWO_PHASE_ON, true));
    graph_free(loose->g);
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_applies_where_sources_are_shared),
        cmocka_unit_test(it_does_nothing_elsewhere),
        cmocka_unit_test(sources_are_loaded_less),
        cmocka_unit_test(partial_results_are_kept),
        cmocka_unit_test(halves_move_less_than_signs),
        cmocka_unit_test(the_cost_model_decides),
        cmocka_unit_test(both_mean_the_same),
        cmocka_unit_test(a_wrong_merge_is_noticed),
        cmocka_unit_test(only_what_should_matters),
    };
    return cmocka_run_group_tests(tests, two_phase_setup, scratch_teardown);
}
