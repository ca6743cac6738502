/* SPDX-License-Identifier: MIT
** The passes: what simplification leaves, what the backward part computes
** again, that a forward pass is one row kernel between two anchors that reads
** every source once, for every mixer; and graphs that once came out wrong.
*/
#include "test.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "passes.h"
#include "graph_file.h"
#include "plan.h"
#include "rows.h"
#include "scratch_spec.h"

/* == Simplification ======================================================= */

typedef struct Rule {
    const char *before, *after;
} Rule;

#define X "%0 = param \"x\" normal 0.5 : [4]\n"
static const Rule rules[] = {
    { X "%1 = fill 0 : [4]\n%2 = add %0, %1 : [4]\noutput \"y\" %2\n", X "output \"y\" %0\n" },
    { X "%1 = fill 1 : []\n%2 = mul %1, %0 : [4]\noutput \"y\" %2\n", X "output \"y\" %0\n" },
    { X "%1 = add %0, %0 : [4]\noutput \"y\" %1\n",
      X "%1 = fill 2 : []\n%2 = mul %0, %1 : [4]\noutput \"y\" %2\n" },
    { X "%1 = reshape %0 : [2,2]\n%2 = reshape %1 : [4]\noutput \"y\" %2\n",
      X "output \"y\" %0\n" },
    { X "%1 = reshape %0 : [2,2]\n%2 = reshape %1 : [1,4]\noutput \"y\" %2\n",
      X "%1 = reshape %0 : [1,4]\noutput \"y\" %1\n" },
    { X
      "%1 = stack %0, %0 : [2,4]\n%2 = slice %1 axis=0 first=1 count=1 : [1,4]\noutput \"y\" %2\n",
      X "%1 = reshape %0 : [1,4]\noutput \"y\" %1\n" },
    { X "%1 = param \"c\" normal 0.5 : []\n%2 = mul %0, %1 : [4]\n%3 = sum %2 axis=0 : []\noutput "
        "\"y\" %3\n",
      X "%1 = param \"c\" normal 0.5 : []\n%2 = sum %0 axis=0 : []\n%3 = mul %2, %1 : []\noutput "
        "\"y\" %3\n" },
    { X
      "%1 = param \"c\" normal 0.5 : []\n%2 = mul %1, %0 : [4]\n%3 = param \"z\" normal 0.5 : [4]\n"
      "%4 = mul %2, %3 : [4]\n%5 = sum %4 axis=0 : []\noutput \"y\" %5\n",
      X
      "%1 = param \"c\" normal 0.5 : []\n%2 = param \"z\" normal 0.5 : [4]\n%3 = mul %2, %0 : [4]\n"
      "%4 = sum %3 axis=0 : []\n%5 = mul %4, %1 : []\noutput \"y\" %5\n" },
    { X "%1 = fill 0 : [4]\n%2 = param \"c\" normal 0.5 : []\n%3 = after %1, %2 : [4]\n%4 = add "
        "%3, %0 : [4]\noutput \"y\" %4\n",
      X "%1 = param \"c\" normal 0.5 : []\n%2 = after %0, %1 : [4]\noutput \"y\" %2\n" },
    { X
      "%1 = param \"b\" normal 0.5 : [4]\n%2 = stack %0, %1, %0 : [3,4]\n%3 = reshape %1 : [1,4]\n"
      "%4 = slice %2 axis=0 first=1 count=2 : [2,4]\n%5 = concat %3, %4 axis=0 : [3,4]\n"
      "output \"y\" %5\n",
      X "%1 = param \"b\" normal 0.5 : [4]\n%2 = stack %1, %1, %0 : [3,4]\noutput \"y\" %2\n" },
    /* most rows are no pieces of a list: stays */
    { X "%1 = param \"b\" normal 0.5 : [3,4]\n%2 = stack %0, %0 : [2,4]\n"
        "%3 = concat %1, %2 axis=0 : [5,4]\noutput \"y\" %3\n",
      X "%1 = param \"b\" normal 0.5 : [3,4]\n%2 = stack %0, %0 : [2,4]\n"
        "%3 = concat %1, %2 axis=0 : [5,4]\noutput \"y\" %3\n" },
    /* sums of pieces that were cut at different places; written out where others read them */
    { "%0 = param \"a\" normal 0.5 : [3]\n%1 = param \"b\" normal 0.5 : [1]\n"
      "%2 = concat %0, %1 axis=0 : [4]\n%3 = concat %1, %0 axis=0 : [4]\n"
      "%4 = add %2, %3 : [4]\noutput \"y\" %4\n",
      "%0 = param \"a\" normal 0.5 : [3]\n%1 = param \"b\" normal 0.5 : [1]\n"
      "%2 = slice %0 axis=0 first=0 count=1 : [1]\n%3 = add %2, %1 : [1]\n"
      "%4 = slice %0 axis=0 first=1 count=2 : [2]\n%5 = slice %0 axis=0 first=0 count=2 : [2]\n"
      "%6 = add %4, %5 : [2]\n%7 = slice %0 axis=0 first=2 count=1 : [1]\n"
      "%8 = add %1, %7 : [1]\n%9 = concat %3, %6, %8 axis=0 : [4]\noutput \"y\" %9\n" },
    { "%0 = param \"a\" normal 0.5 : [3]\n%1 = param \"b\" normal 0.5 : [1]\n"
      "%2 = concat %0, %1 axis=0 : [4]\n%3 = concat %1, %0 axis=0 : [4]\n"
      "%4 = add %2, %3 : [4]\n%5 = mul %4, %2 : [4]\noutput \"y\" %5\n",
      "%0 = param \"a\" normal 0.5 : [3]\n%1 = param \"b\" normal 0.5 : [1]\n"
      "%2 = concat %0, %1 axis=0 : [4]\n%3 = concat %1, %0 axis=0 : [4]\n"
      "%4 = add %2, %3 : [4]\n%5 = mul %4, %2 : [4]\noutput \"y\" %5\n" },
    /* not the same for infinities and NaN: stays */
    { X "%1 = sub %0, %0 : [4]\noutput \"y\" %1\n", X "%1 = sub %0, %0 : [4]\noutput \"y\" %1\n" },
    { X "%1 = fill 0 : []\n%2 = mul %0, %1 : [4]\noutput \"y\" %2\n",
      X "%1 = fill 0 : []\n%2 = mul %0, %1 : [4]\noutput \"y\" %2\n" },
};

static Graph *read_text(const char *text) {
    char error[200];
    Graph *g = graph_read(text, error, sizeof error);
    if (!g) fail_msg("%s in\n%s", error, text);
    return g;
}

static void identities_are_applied(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        Graph *g = pass_simplify(read_text(rules[i].before)), *want = read_text(rules[i].after);
        graph_verify(g);
        Graph *left = graph_extract(g, (const char *const[]){ "y", NULL });
        char *a = graph_printed(left, false), *b = graph_printed(want, false);
        assert_string_equal(a, b);
        free(a), free(b);
        graph_free(g), graph_free(want), graph_free(left);
    }
}

/* == Plans ================================================================ */

static Graph *prepared(Graph *g) {
    g = pass_simplify(g);
    graph_verify(g);
    g = pass_recompute(g, KEEP_AUTO);
    graph_verify(g);
    g = pass_expand(g);
    graph_verify(g);
    return g;
}

static Model *load(void **state, const char *residual, int layers) {
    return scratch_model(state,
                         "return model { name = 'plan', vocab = 20, context = 16, dim = 32, norm = "
                         "rmsnorm {}, residual = %s,\n"
                         "  layers = times(%d, layer { attention { heads = 2, rope = {} }, mlp { "
                         "hidden = 48 } }) }\n",
                         residual, layers);
}

static Plan *plan(Graph *g) {
    Plan *p = pass_schedule(prepared(g), NULL);
    pass_memory(p, true);
    /* of parameters: all at 0 */
    p->place = graph_alloc(p->g, ((size_t)p->g->n + 1) * sizeof *p->place);
    return p;
}

static Plan *plan_logits(const Model *m) {
    return plan(graph_extract(m->graph, (const char *const[]){ "logits", NULL }));
}

static Plan *plan_training(const Model *m) {
    Graph *g = graph_extract(m->graph, (const char *const[]){ "nll", "loss", NULL });
    pass_gradient(g);
    return plan(g);
}

static int rows_of(const Plan *p) {
    int n = 0;
    for (int i = 0; i < p->nstep; i++)
        n += p->step[i].kind == STEP_ROW;
    return n;
}

static const char *const mixers[] = {
    "standard {}",
    "rezero {}",
    "layerscale {}",
    "highway {}",
    "highway { gate = 'scalar' }",
    "denseformer {}",
    "denseformer { period = 2, dilation = 2 }",
    "attnres { blocks = 3 }",
    "attnres { full = true }",
    "attnres { block_size = 3, heads = 4, kernel = 'sigmoid' }",
    "attnres { block_size = 2, query = 'static', window = 2 }",
    "haares { blocks = 2 }",
    "haares { block_size = 3, heads = 2 }",
    "(require 'own') { speed = -1 }",
    "hyper { streams = 4 }",
    "hyper { streams = 3, dynamic = false }",
};

static void write_own(void **state) {
    char path[SCRATCH_PATH], from[1024];
    size_t size;
    snprintf(from, sizeof from, "%s/specs/sample/echo.lua", SOURCE_DIR);
    char *text = scratch_read(from, &size);
    assert_non_null(text);
    scratch_write(scratch_path(state, "own.lua", path), text, size);
    free(text);
}

/* A layer has four places where rows are computed: before attention's products, between
** them and attention, before the mlp's products, and between those; then the final
** read.  A mixer adds none. */
static void a_mixer_adds_no_row_kernel(void **state) {
    enum { LAYERS = 5 };
    write_own(state);
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        Model *m = load(state, mixers[i], LAYERS);
        Plan *p = plan_logits(m);
        if (rows_of(p) != 4 * LAYERS + 1)
            fail_msg("%s: %d row kernels, expected %d", mixers[i], rows_of(p), 4 * LAYERS + 1);
        graph_free(p->g);
        spec_free(m);
    }
}

/* No place in memory is two of a kernel's operands, and what a depth read chooses from
** are operands, one each. */
static void check_operands(const char *mixer, const Plan *p, int step, RowsShared shared) {
    const Rows *r = rows_analyse(p, step, 8, shared);
    for (int i = 0; i < r->noperand; i++)
        for (int k = 0; k < i; k++)
            if (r->operand[i].node && r->operand[i].node == r->operand[k].node
                && r->operand[i].add == r->operand[k].add)
                fail_msg("%s: step %d reads %%%d twice", mixer, step, r->operand[i].node->id);
}

static int largest_read(const Plan *p) {
    int most = 0;
    RowsShared shared = rows_shared(p);
    for (int i = 0; i < p->nstep; i++) {
        if (p->step[i].kind != STEP_ROW) continue;
        const Rows *r = rows_analyse(p, i, 8, shared);
        int n = 0;
        for (int k = 0; k < r->noperand; k++)
            n += r->operand[k].ref.area == AREA_TOKEN || r->operand[k].ref.area == AREA_LOCAL;
        most = n > most ? n : most;
    }
    return most;
}

static void every_source_is_one_operand(void **state) {
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        Model *m = load(state, mixers[i], 5);
        Plan *p = plan_logits(m), *t = plan_training(m);
        RowsShared shared = rows_shared(p), more = rows_shared(t);
        for (int k = 0; k < p->nstep; k++)
            if (p->step[k].kind == STEP_ROW) check_operands(mixers[i], p, k, shared);
        for (int k = 0; k < t->nstep; k++)
            if (t->step[k].kind == STEP_ROW) check_operands(mixers[i], t, k, more);
        graph_free(p->g), graph_free(t->g);
        spec_free(m);
    }
}

/* AttnRes with blocks of one: the final read's operands are the embedding and all
** outputs, the last of them just computed, and the result. */
static void a_read_of_all_has_all_as_operands(void **state) {
    Model *m = load(state, "attnres { full = true }", 5);
    Plan *p = plan_logits(m);
    assert_int_equal(m->read[m->nread - 1].sources, 11);
    assert_int_equal(largest_read(p), 11 + 1);
    graph_free(p->g);
    spec_free(m);
}

/* Twice as many layers: twice the steps, but hardly more memory a token forward. */
static void memory_is_reused(void **state) {
    Model *a = load(state, "standard {}", 4), *b = load(state, "standard {}", 8);
    Plan *p = plan_logits(a), *q = plan_logits(b);
    assert_int_equal(rows_of(q) - 1, 2 * (rows_of(p) - 1));
    assert_int_equal(p->token_floats, q->token_floats);
    assert_int_equal(p->local_floats, q->local_floats);
    graph_free(p->g), graph_free(q->g);
    spec_free(a), spec_free(b);
}

/* The parameter to whose gradient a step adds directly. */
static const Node *added_to(const Plan *p, const Step *s) {
    const Node *n = s->kind == STEP_ANCHOR || s->kind == STEP_REDUCE ? s->anchor : NULL;
    if (!n || p->buffer[n->id]->space != SPACE_GRADIENT) return NULL;
    for (int i = 0; i < p->npart; i++)
        if (p->part[i].node == n) return p->part[i].param;
    fail_msg("%%%d is added to no gradient", n->id);
    return NULL;
}

/* Pairs of steps that add to the same gradient; none of a pair in one phase, whose
** tasks run side by side: two would write the same floats at once, in any order. */
static int check_pieces(const char *mixer, const Plan *p) {
    int pairs = 0;
    for (int i = 0; i < p->nstep; i++) {
        const Node *param = added_to(p, &p->step[i]);
        for (int k = 0; param && k < i; k++) {
            if (added_to(p, &p->step[k]) != param) continue;
            if (p->step[k].phase == p->step[i].phase)
                fail_msg("%s: steps %d and %d add to the gradient of %s at once", mixer, k, i,
                         param->attr->name);
            pairs++;
        }
    }
    return pairs;
}

static void pieces_of_a_gradient_run_one_after_another(void **state) {
    static const char *const shared[] = {
        "attnres { full = true, kernel = 'linear', window = 3 }",
        "attnres { block_size = 2, kernel = 'linear', query = 'input' }",
        "drr { heads = 2, window = 3, block_layers = 1, causal = true, chunk = 5 }",
    };
    write_own(state);
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers + sizeof shared / sizeof *shared; i++) {
        const bool own = i >= sizeof mixers / sizeof *mixers;
        const char *mixer = own ? shared[i - sizeof mixers / sizeof *mixers] : mixers[i];
        Model *m = load(state, mixer, 4);
        Plan *p = plan_training(m);
        int pairs = check_pieces(mixer, p);
        if (own) assert_true(pairs > 2);
        graph_free(p->g);
        spec_free(m);
    }
}

/* Whether a step does nothing but turn a parameter, once for all tokens. */
static bool turns_parameter(const Plan *p, const Step *s) {
    const Node *n = s->kind == STEP_UNIFORM && s->n == 1 ? s->node[0] : NULL;
    return n && n->op == OP_transpose && p->buffer[n->id] && n->in[0]->op == OP_param;
}

/* Whether the rows of a step's tokens are computed with the columns as they lie. */
static bool gathers(const Plan *p, int step, RowsShared shared) {
    const Rows *r = p->step[step].kind == STEP_ROW ? rows_analyse(p, step, 8, shared) : NULL;
    bool found = false;
    for (int k = 0; r && k < r->noperand; k++)
        found |= r->operand[k].node && r->operand[k].node->op == OP_param
            && strstr(r->operand[k].node->attr->name, "dynamic_mix");
    return found;
}

static void columns_are_turned_once(void **state) {
    Model *m = load(state, "hyper { streams = 3 }", 5);
    for (int training = 0; training < 2; training++) {
        Plan *p = training ? plan_training(m) : plan_logits(m);
        RowsShared shared = rows_shared(p);
        int turned = 0;
        for (int i = 0; i < p->nstep; i++) {
            turned += turns_parameter(p, &p->step[i]);
            assert_false(gathers(p, i, shared));
        }
        assert_int_equal(turned, 2 * 5);
        graph_free(p->g);
    }
    spec_free(m);
}

/* == Recomputation ======================================================== */

/* What the backward part reads of the forward part: rows are read only if they pass
** between kernels anyway or are a few numbers. */
static void cheap_rows_are_computed_again(void **state) {
    Model *m = load(state, "haares { blocks = 2 }", 4);
    Plan *p = plan_training(m);
    int twins = 0;
    for (int i = 0; i < p->g->n; i++) {
        const Node *n = p->g->node[i];
        twins += n->attr->copy == 1;
        if (n->attr->copy) assert_true(class_is_row(op_info[n->op].class));
        assert_false(n->attr->copy && !n->backward);
    }
    assert_true(twins > 20);
    graph_free(p->g);
    spec_free(m);
}

/* == Graphs that came out wrong once ====================================== */

typedef struct Found {
    const char *path, *cpu;
    Keep keep;
} Found;

static int run_found(void *arg) {
    const Found *f = arg;
    static const Extent extent[] = { { 1, 3 }, { 5, 14 }, { 0 } };
    char *text, why[700];
    CodegenOptions o = { .cpu = f->cpu, .passes.keep = f->keep };
    Graph *g = graph_from_file(f->path, &text);
    free(text);
    if (graph_answer(g, 7, &o, extent, why, sizeof why) == AGREES) return 0;
    fprintf(stderr, "%s\n", why);
    return 1;
}

static void graphs_found_wrong_are_right(void **state) {
    (void)state;
    glob_t all;
    int failures = 0;
    assert_int_equal(glob(SOURCE_DIR "/tests/passes/*.graph", 0, NULL, &all), 0);
    for (size_t i = 0; i < all.gl_pathc; i++)
        for (const char *const *cpu = compiled_cpus(); *cpu; cpu++) {
            Found f = { all.gl_pathv[i], *cpu, (Keep)((cpu - compiled_cpus()) % 3) };
            int status = apart(run_found, &f);
            if (status) print_error("%s, %s, %d: status %d\n", f.path, f.cpu, f.keep, status);
            failures += status != 0;
        }
    globfree(&all);
    assert_int_equal(failures, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identities_are_applied),
        cmocka_unit_test(a_mixer_adds_no_row_kernel),
        cmocka_unit_test(every_source_is_one_operand),
        cmocka_unit_test(a_read_of_all_has_all_as_operands),
        cmocka_unit_test(memory_is_reused),
        cmocka_unit_test(pieces_of_a_gradient_run_one_after_another),
        cmocka_unit_test(columns_are_turned_once),
        cmocka_unit_test(cheap_rows_are_computed_again),
        cmocka_unit_test(graphs_found_wrong_are_right),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
