/* SPDX-License-Identifier: MIT
** Depth-mixing matrices: weights times sources are the read, whatever the mixer, and
** the ranks of blocks on random weights are those that theory gives.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mixing.h"
#include "mixing_graph.h"
#include "random.h"
#include "scratch_spec.h"

static Model *routed_model(void **state, const char *residual, const char *route, int layers) {
    return scratch_model(state,
                         "return model { name = 'm', vocab = 16, context = 8, dim = 24, norm = "
                         "rmsnorm {}, residual = %s,\n"
                         "  layers = times(%d, layer { attention { heads = 3 }, mlp { hidden = 16, "
                         "activation = 'relu' }, route = %s }) }\n",
                         residual, layers, route);
}

static Model *model_of(void **state, const char *residual, int layers) {
    return routed_model(state, residual, "nil", layers);
}

static Mixing *measured(const Model *m, MixingWeights weights) {
    Error e = { 0 };
    Mixing *x = mixing_measure(m, weights, 11, &e);
    if (!x) fail_msg("%s", e.text);
    return x;
}

static const char *const residuals[] = {
    "standard {}",
    "rezero {}",
    "layerscale {}",
    "highway {}",
    "highway { gate = 'scalar' }",
    "denseformer { period = 2 }",
    "attnres { full = true }",
    "attnres { blocks = 3, heads = 3 }",
    "attnres { blocks = 3, kernel = 'linear' }",
    "attnres { blocks = 4, kernel = 'sigmoid', query = 'input' }",
    "attnres { full = true, window = 3 }",
    "haares { blocks = 2 }",
    "haares { blocks = 3, bias = 0.5, rms_match = false }",
    "hyper { streams = 3, dynamic = false }",
    "hyper { streams = 2 }",
    "mhc { streams = 3 }",
    "mhc { streams = 3, lite = true }",
    "gated_residual { streams = 3, rank = 4 }",
};
enum { RESIDUALS = sizeof residuals / sizeof *residuals };

/* == Weights times sources are the read =================================== */

enum { SAMPLES = 2 };

typedef struct Values {
    const MixingGraph *x;
    double *by_id[4096];
} Values;

/* Normal numbers by name; the direction is all ones. */
static const double *value_of(void *user, const Node *p) {
    Values *v = user;
    int64_t count = shape_count(&p->shape);
    assert_true(p->id < 4096);
    if (v->by_id[p->id]) return v->by_id[p->id];
    double *d = v->by_id[p->id] = malloc((size_t)count * sizeof *d);
    float *f = malloc((size_t)count * sizeof *f);
    random_normal(5, random_stream(p->attr->name), 0, count,
                  p->shape.rank == 2 && p->shape.dim[0] != SAMPLES ? 0.3 : 1, f);
    for (int64_t i = 0; i < count; i++)
        d[i] = strcmp(p->attr->name, "direction") ? f[i] : 1;
    free(f);
    return d;
}

static Node *named(const MixingGraph *x, int source) {
    char name[32];
    snprintf(name, sizeof name, "source %d", source);
    for (int i = 0; i < x->g->nparam; i++)
        if (!strcmp(x->g->param[i].node->attr->name, name)) return x->g->param[i].node;
    return NULL;
}

/* A raw gate is made of what it multiplies. */
static const struct {
    const char *residual, *route;
} routed[] = {
    { "standard {}", "mod { capacity = 0.5 }" },
    { "rezero {}", "mod { capacity = 0.5, gate = 'sigmoid' }" },
    { "highway {}", "dllm { hidden = 6 }" },
    { "haares { blocks = 2 }", "dtr {}" },
    { "hyper { streams = 2 }", "dtr { bypass = 'none' }" },
};
enum { ROUTED = sizeof routed / sizeof *routed };

static void weights_times_sources_are_the_read(void **state) {
    for (int i = 0; i < RESIDUALS + ROUTED; i++) {
        const char *what = i < RESIDUALS ? residuals[i] : routed[i - RESIDUALS].route;
        Model *m = i < RESIDUALS ? model_of(state, what, 3)
                                 : routed_model(state, routed[i - RESIDUALS].residual, what, 3);
        MixingGraph *x = mixing_graph_new(m, SAMPLES);
        Values v = { .x = x };
        int32_t ids[SAMPLES] = { 0, 1 };
        for (int r = 0; r < m->nread; r++) {
            char name[16];
            snprintf(name, sizeof name, "read %d", r);
            mixing_graph_read(x, r);
            graph_output(x->g, name, x->twin[m->read[r].result->id]);
        }
        Eval *ev = eval_new(x->g,
                            &(EvalInput){ .batch = SAMPLES,
                                          .time = 1,
                                          .tokens = ids,
                                          .param = value_of,
                                          .user = &v,
                                          .seed = 1 });
        double worst = 0;
        for (int r = 0; r < m->nread; r++)
            for (int64_t k = 0; k < SAMPLES * m->dim; k++) {
                double sum = 0, h = eval_value(ev, x->twin[m->read[r].result->id])[k];
                for (int s = 0; s <= r; s++) {
                    const Node *w = mixing_graph_weight(x, r, s);
                    if (w) sum += eval_value(ev, w)[k] * value_of(&v, named(x, s))[k];
                }
                worst = fmax(worst, fabs(sum - h) / (1 + fabs(h)));
            }
        if (!(worst < 1e-9)) fail_msg("%s: %g", what, worst);
        assert_null(mixing_graph_weight(x, 1, 2));
        eval_free(ev);
        for (int id = 0; id < 4096; id++)
            free(v.by_id[id]);
        mixing_graph_free(x);
        spec_free(m);
    }
}

/* == What entries depend on =============================================== */

static void kinds(void **state) {
    static const struct {
        const char *residual;
        MixingKind kind;
    } row[] = {
        { "standard {}", MIXING_FIXED },
        { "rezero {}", MIXING_PARAMETERS },
        { "denseformer {}", MIXING_PARAMETERS },
        { "hyper { streams = 2, dynamic = false }", MIXING_PARAMETERS },
        { "attnres { full = true, query = 'static' }", MIXING_PARAMETERS },
        { "hyper { streams = 2 }", MIXING_DATA },
        { "attnres { full = true }", MIXING_DATA },
        { "highway {}", MIXING_DATA },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Model *m = model_of(state, row[i].residual, 2);
        Mixing *initial = measured(m, WEIGHTS_INITIAL), *random = measured(m, WEIGHTS_RANDOM);
        assert_int_equal(mixing_kind(initial, random), row[i].kind);
        mixing_free(initial), mixing_free(random);
        spec_free(m);
    }
}

static void initial_weights_of_some(void **state) {
    Model *m = model_of(state, "standard {}", 3);
    Mixing *x = measured(m, WEIGHTS_INITIAL);
    for (int i = 0; i < x->size * x->size; i++)
        assert_true(x->mean[i] == (i % x->size <= i / x->size));
    mixing_free(x), spec_free(m);
    m = model_of(state, "attnres { full = true }", 3);
    x = measured(m, WEIGHTS_INITIAL);
    for (int r = 0; r < x->size; r++)
        for (int s = 0; s <= r; s++)
            assert_true(fabs(x->mean[r * x->size + s] - 1.0 / (r + 1)) < 1e-12);
    mixing_free(x), spec_free(m);
}

/* A stream that is read through attention over itself: of one token, the stream. */
static void attention_mixes_values(void **state) {
    static const char own[] =
        "return mixer {\n"
        "  open = function(m, e) return { h = e } end,\n"
        "  read = function(m, state) local x = reshape(state.h, { 1, m.dim })\n"
        "    return reshape(attention(x, x, x, { causal = true }), { m.dim }) end,\n"
        "  write = function(m, state, site, out) return { h = state.h + out } end,\n"
        "  close = function(m, state) return state.h end }\n";
    char path[SCRATCH_PATH];
    scratch_write(scratch_path(state, "own.lua", path), own, sizeof own - 1);
    Model *m = model_of(state, "require 'own' {}", 2);
    Mixing *x = measured(m, WEIGHTS_RANDOM);
    for (int i = 0; i < x->size * x->size; i++)
        assert_true(fabs(x->mean[i] - (i % x->size <= i / x->size)) < 1e-12);
    mixing_free(x);
    spec_free(m);
}

/* Memories of earlier layers are paths of their own: not all goes through the stream. */
static void memories_are_seen(void **state) {
    Model *m = model_of(state, "drr { heads = 2, window = 2, causal = true, chunk = 4 }", 4);
    MixingGraph *x = mixing_graph_new(m, 1);
    int read = 4, values = 0;
    for (int i = 0; i < m->graph->n; i++) {
        const Node *n = m->graph->node[i];
        if (x->twin[i] && op_info[n->op].class == SEQUENCE)
            values += x->kind[i] == x->kind[m->read[read].result->id];
    }
    assert_true(values >= 3);
    mixing_graph_free(x);
    spec_free(m);
}

/* == Formulas ============================================================= */

/* A mixer with a read of its own; of these, what is written would be endless. */
#define READS(read)                                                                      \
    "mixer { open = function(m, e) return { h = e } end, read = function(m, s) " read    \
    " end, write = function(m, s, site, o) return { h = s.h + o } end, close = function" \
    "(m, s) return s.h end } {}"

static void formulas(void **state) {
    static const struct {
        const char *residual;
        int read, source;
        const char *formula;
    } row[] = {
        { "standard {}", 4, 2, "1" },
        { "rezero {}", 4, 0, "1" },
        { "rezero {}", 4, 2, "layers.0.mlp.residual.alpha" },
        { "layerscale {}", 3, 1, "layers.0.attention.residual.scale" },
        { "denseformer {}", 2, 0, "layers.0.residual.alpha[0] + layers.0.residual.alpha[1]" },
        { "denseformer {}", 3, 3, "1" },
        { "attnres { block_size = 2, query = 'static' }", 4, 3,
          "softmax(readout.residual.logits)[2]" },
        { "attnres { full = true, query = 'static', kernel = 'sigmoid' }", 2, 1,
          "sigmoid(layers.1.attention.residual.logits[1])" },
        { "hyper { streams = 2, dynamic = false }", 0, 0,
          "layers.0.attention.residual.read[0] + layers.0.attention.residual.read[1]" },
        { "hyper { streams = 2, dynamic = false }", 4, 0, NULL },
        { "standard {}", 1, 2, "0" },
        { READS("local c = reshape(1, { 1 }) for i = 1, 3 do c = c * c end return s.h * c"), 0, 0,
          "1" },
        { READS("local c = reshape(1, { 1 }) for i = 1, 60 do c = c * c end return s.h * c"), 0, 0,
          NULL },
        { READS("local h = s.h for i = 1, 20000 do h = h * 1 end return h"), 0, 0, NULL },
        { READS("local h = s.h for i = 1, 5000 do h = h + s.h end return h"), 0, 0, NULL },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Model *m = model_of(state, row[i].residual, 2);
        MixingGraph *x = mixing_graph_new(m, 1);
        Text t = { 0 };
        text_add(&t, "=");
        mixing_graph_read(x, row[i].read);
        assert_int_equal(mixing_symbol(x, row[i].read, row[i].source, &t), row[i].formula != NULL);
        assert_string_equal(t.at + 1, row[i].formula ? row[i].formula : "");
        text_free(&t);
        mixing_graph_free(x);
        spec_free(m);
    }
}

/* == Ranks ================================================================ */

/* Every block of 2 * 8 sublayers; 'reached': the rank that some block has. */
static void check_ranks(void **state, const char *residual, int least, int most) {
    Model *m = model_of(state, residual, 8);
    Mixing *x = measured(m, WEIGHTS_RANDOM);
    int largest = 0;
    for (int k = 0; k < x->size; k++) {
        int rank = mixing_rank(x, k);
        assert_true(rank >= 1 && rank <= mixing_dense(x->size, k));
        largest = rank > largest ? rank : largest;
    }
    if (largest < least || largest > most)
        fail_msg("%s: %d, expected %d to %d", residual, largest, least, most);
    mixing_free(x);
    spec_free(m);
}

static void ranks_of_blocks(void **state) {
    check_ranks(state, "standard {}", 1, 1);
    check_ranks(state, "layerscale {}", 1, 1);
    check_ranks(state, "highway {}", 1, 1);
    check_ranks(state, "highway { gate = 'scalar' }", 1, 1);
    for (int streams = 2; streams <= 4; streams++) {
        static const char *const form[] = { "hyper { streams = %d }",
                                            "hyper { streams = %d, dynamic = false }",
                                            "mhc { streams = %d }",
                                            "mhc { streams = %d, lite = true }",
                                            "gated_residual { streams = %d, rank = 4 }" };
        for (int i = 0; i < 5; i++) {
            char residual[64];
            int n = snprintf(residual, sizeof residual, "%.*s%d%s",
                             (int)(strchr(form[i], '%') - form[i]), form[i], streams,
                             strchr(form[i], '%') + 2);
            assert_true(n > 0);
            check_ranks(state, residual, streams, streams);
        }
    }
    check_ranks(state, "attnres { blocks = 2 }", 2, 2 + 8);
    check_ranks(state, "attnres { blocks = 4 }", 4, 4 + 4);
    check_ranks(state, "attnres { full = true }", 9, 9);
    check_ranks(state, "attnres { full = true, window = 4 }", 5, 5);
    check_ranks(state, "haares { blocks = 4 }", 6, 9);
}

static void some_rows_sum_to_one(void **state) {
    static const char *const residual[] = {
        "highway {}", "highway { gate = 'scalar' }", "attnres { full = true }",
        "attnres { full = true, heads = 2, kernel = 'softmax' }",
        "attnres { full = true, kernel = 'linear' }"
    };
    for (int i = 0; i < 5; i++) {
        Model *m = model_of(state, residual[i], 6);
        Mixing *x = measured(m, WEIGHTS_RANDOM);
        for (int r = 0; r < x->size; r++) {
            double sum = 0;
            for (int s = 0; s < x->size; s++)
                sum += x->mean[r * x->size + s];
            assert_true(fabs(sum - 1) < 1e-9);
        }
        mixing_free(x);
        spec_free(m);
    }
}

/* Softmax over blocks of 3 sublayers: a block's outputs share a weight, and those sum to 1. */
static void a_block_is_one_source(void **state) {
    Model *m = model_of(state, "attnres { block_size = 3 }", 6);
    Mixing *x = measured(m, WEIGHTS_RANDOM);
    for (int r = 0; r < x->size; r++) {
        double sum = x->mean[r * x->size];
        for (int s = 1; s <= r; s++) {
            if (s % 3 == 1) sum += x->mean[r * x->size + s];
            else assert_true(fabs(x->mean[r * x->size + s] - x->mean[r * x->size + s - 1]) < 1e-12);
        }
        assert_true(fabs(sum - 1) < 1e-9);
    }
    mixing_free(x);
    spec_free(m);
}

/* A product of rank 5, rows and columns scaled over thirty orders of magnitude. */
static void rank_of_what_is_badly_scaled(void **state) {
    enum { ROWS = 20, COLUMNS = 30, RANK = 5 };
    float u[ROWS * RANK], v[RANK * COLUMNS];
    double a[ROWS * COLUMNS];
    (void)state;
    random_normal(1, 1, 0, ROWS * RANK, 1, u);
    random_normal(1, 2, 0, RANK * COLUMNS, 1, v);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++) {
            double sum = 0;
            for (int j = 0; j < RANK; j++)
                sum += (double)u[i * RANK + j] * v[j * COLUMNS + k];
            a[i * COLUMNS + k] = sum * pow(10, i - k);
        }
    assert_int_equal(matrix_rank(a, ROWS, COLUMNS, COLUMNS), RANK);
    assert_int_equal(matrix_rank(a, 3, COLUMNS, COLUMNS), 3);
    memset(a, 0, sizeof a);
    assert_int_equal(matrix_rank(a, ROWS, COLUMNS, COLUMNS), 0);
}

static void too_deep_is_a_limit(void **state) {
    Model *m = model_of(state, "standard {}", 201);
    Error e = { 0 };
    assert_null(mixing_measure(m, WEIGHTS_INITIAL, 1, &e));
    assert_int_equal(e.status, STATUS_LIMIT);
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(weights_times_sources_are_the_read, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(kinds, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(initial_weights_of_some, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(attention_mixes_values, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(memories_are_seen, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(formulas, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(ranks_of_blocks, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(some_rows_sum_to_one, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_block_is_one_source, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(rank_of_what_is_badly_scaled, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(too_deep_is_a_limit, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
