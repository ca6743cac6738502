/* SPDX-License-Identifier: MIT
** Depth mixing of trained weights on a text: the entries are the weights with which the
** model's reads really take its sources there, and what cannot be read is an error.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mixing.h"
#include "random.h"
#include "safetensors.h"
#include "scratch_spec.h"

enum { DIM = 24, LAYERS = 3 };

static Model *routed_model(void **state, const char *residual, const char *route) {
    return scratch_model(state,
                         "return model { name = 'm', vocab = 256, context = 16, dim = %d, "
                         "tokenizer = 'bytes', norm = rmsnorm {}, residual = %s,\n"
                         "  layers = times(%d, layer { attention { heads = 3 }, mlp { hidden = 16, "
                         "activation = 'relu' }, route = %s }) }\n",
                         DIM, residual, LAYERS, route);
}

static Model *model_of(void **state, const char *residual) {
    return routed_model(state, residual, "nil");
}

/* == A weight file ======================================================== */

typedef struct Weights {
    const Graph *g;
    float **value;
} Weights;

static Weights weights_of(const Model *m, uint64_t seed) {
    Weights w = { m->graph, calloc((size_t)m->graph->nparam, sizeof *w.value) };
    assert_non_null(w.value);
    for (int i = 0; i < m->graph->nparam; i++) {
        const Node *p = m->graph->param[i].node;
        int64_t n = shape_count(&p->shape);
        w.value[i] = malloc((size_t)n * sizeof *w.value[i]);
        assert_non_null(w.value[i]);
        random_normal(seed, random_stream(p->attr->name), 0, n, 0.4, w.value[i]);
    }
    return w;
}

static void write_weights(const Weights *w, int skip, const char *path) {
    TensorList l = { 0 };
    Error e = { 0 };
    for (int i = 0; i < w->g->nparam; i++) {
        const Node *p = w->g->param[i].node;
        if (i != skip)
            assert_int_equal(tensors_add(&l, "", p->attr->name, DTYPE_F32, p->shape.rank,
                                         p->shape.dim, w->value[i], &e),
                             0);
    }
    if (safetensors_write(path, &l, NULL, 0, 0, &e)) fail_msg("%s", e.text);
    tensors_free(&l);
}

static void free_weights(Weights *w) {
    for (int i = 0; i < w->g->nparam; i++)
        free(w->value[i]);
    free(w->value);
}

/* == The model itself, run by the interpreter ============================= */

typedef struct Doubles {
    const Weights *w;
    double *value[4096];
} Doubles;

static const double *double_of(void *user, const Node *p) {
    Doubles *d = user;
    assert_true(p->id < 4096);
    if (d->value[p->id]) return d->value[p->id];
    int64_t n = shape_count(&p->shape);
    double *v = d->value[p->id] = malloc((size_t)n * sizeof *v);
    assert_non_null(v);
    int i = 0;
    while (d->w->g->param[i].node != p)
        i++;
    for (int64_t k = 0; k < n; k++)
        v[k] = d->w->value[i][k];
    return v;
}

static Mixing *mixing_of_text(const Model *m, const char *weights, const char *text, double share,
                              Error *e) {
    const MixingText what = { { .option = "--train", .word = &text, .words = 1, .field = "text" },
                              share };
    return mixing_trained(m, weights, &what, e);
}

/* One token is looked at, and every channel of a source has the same weight: then the entries
** times the sources are the read. */
static void check_reads(void **state, const char *residual) {
    char file[SCRATCH_PATH], text[SCRATCH_PATH];
    Model *m = model_of(state, residual);
    Weights w = weights_of(m, 7);
    Doubles d = { .w = &w };
    Error e = { 0 };
    write_weights(&w, -1, scratch_path(state, "w.safetensors", file));
    scratch_write(scratch_path(state, "text", text), "ab", 2);
    Mixing *x = mixing_of_text(m, file, text, 1, &e);
    if (!x) fail_msg("%s: %s", residual, e.text);
    assert_int_equal(x->samples, 1);
    const int32_t token = 'a';
    EvalInput in = { .batch = 1,
                     .time = 1,
                     .tokens = &token,
                     .param = double_of,
                     .user = &d,
                     .seed = 1,
                     .keep = true };
    Eval *run = eval_new(m->graph, &in);
    for (int r = 0; r < m->nread; r++)
        for (int c = 0; c < DIM; c++) {
            double sum = 0, read = eval_value(run, m->read[r].result)[c];
            for (int s = 0; s <= r; s++)
                sum += x->mean[r * x->size + s] * eval_value(run, m->source[s])[c];
            if (fabs(sum - read) > 1e-6 * (1 + fabs(read)))
                fail_msg("%s: read %d, channel %d: expected %g, found %g", residual, r, c, read,
                         sum);
        }
    eval_free(run);
    mixing_free(x);
    for (int i = 0; i < 4096; i++)
        free(d.value[i]);
    free_weights(&w);
    spec_free(m);
}

static void entries_times_sources_are_the_reads(void **state) {
    check_reads(state, "standard {}");
    check_reads(state, "rezero {}");
    check_reads(state, "highway { gate = 'scalar' }");
    check_reads(state, "attnres { full = true }");
    check_reads(state, "attnres { blocks = 2 }");
    check_reads(state, "hyper { streams = 2 }");
}

static const Node *reader_of(const Graph *g, const char *param) {
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->node[i]->nin; k++)
            if (g->node[i]->in[k]->op == OP_param && !strcmp(g->node[i]->in[k]->attr->name, param))
                return g->node[i];
    fail_msg("nothing reads %s", param);
    return NULL;
}

/* Each layer works on one token of the two: a gate is that of the stream as each layer left it. */
static void sources_are_where_their_tokens_are(void **state) {
    char file[SCRATCH_PATH], text[SCRATCH_PATH];
    Model *m = routed_model(state, "standard {}", "mod { capacity = 0.5 }");
    Weights w = weights_of(m, 7);
    Doubles d = { .w = &w };
    Error e = { 0 };
    write_weights(&w, -1, scratch_path(state, "w.safetensors", file));
    scratch_write(scratch_path(state, "text", text), "abc", 3);
    Mixing *x = mixing_of_text(m, file, text, 1, &e);
    if (!x) fail_msg("%s", e.text);
    assert_int_equal(x->samples, 2);
    const int32_t token[] = { 'a', 'b' };
    EvalInput in = { .batch = 1,
                     .time = 2,
                     .tokens = token,
                     .param = double_of,
                     .user = &d,
                     .seed = 1,
                     .keep = true };
    Eval *run = eval_new(m->graph, &in);
    for (int layer = 0; layer < LAYERS; layer++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%d.router.weight", layer);
        const double *gate = eval_value(run, reader_of(m->graph, name));
        double expected = (gate[0] + gate[1]) / 2,
               found = x->mean[(x->size - 1) * x->size + 1 + 2 * layer];
        if (fabs(found - expected) > 1e-6 * (1 + fabs(expected)))
            fail_msg("layer %d: expected %g, found %g", layer, expected, found);
    }
    eval_free(run);
    mixing_free(x);
    for (int i = 0; i < 4096; i++)
        free(d.value[i]);
    free_weights(&w);
    spec_free(m);
}

/* == The text ============================================================= */

static Mixing *measured(const Model *m, const char *weights, const char *text, double share) {
    Error e = { 0 };
    Mixing *x = mixing_of_text(m, weights, text, share, &e);
    if (!x) fail_msg("%s", e.text);
    return x;
}

static bool same(const Mixing *a, const Mixing *b) {
    return a->samples == b->samples
        && !memcmp(a->mean, b->mean, (size_t)a->size * (size_t)a->size * sizeof *a->mean);
}

/* What is measured hangs on the text's last part alone. */
static void the_last_share_is_looked_at(void **state) {
    char file[SCRATCH_PATH], path[3][SCRATCH_PATH], text[400];
    Model *m = model_of(state, "attnres { full = true }");
    Weights w = weights_of(m, 7);
    write_weights(&w, -1, scratch_path(state, "w.safetensors", file));
    for (int i = 0; i < 400; i++)
        text[i] = (char)('a' + i * i % 23);
    scratch_write(scratch_path(state, "whole", path[0]), text, 400);
    scratch_write(scratch_path(state, "last", path[1]), text + 300, 100);
    memset(text, 'z', 300);
    scratch_write(scratch_path(state, "other", path[2]), text, 400);
    Mixing *part = measured(m, file, path[0], 0.25), *last = measured(m, file, path[1], 1),
           *other = measured(m, file, path[2], 0.25), *whole = measured(m, file, path[0], 1);
    assert_true(same(part, last) && same(part, other) && !same(part, whole));
    assert_int_equal(part->samples, 64);
    for (int r = 0; r < whole->size; r++) {
        double sum = 0;
        for (int s = 0; s <= r; s++)
            sum += whole->mean[r * whole->size + s];
        /* a softmax over sources; noise of other channels is small */
        assert_true(fabs(sum - 1) < 0.2);
    }
    mixing_free(part), mixing_free(last), mixing_free(other), mixing_free(whole);
    free_weights(&w);
    spec_free(m);
}

static void what_does_not_fit_is_an_error(void **state) {
    char file[SCRATCH_PATH], text[SCRATCH_PATH];
    Model *m = model_of(state, "standard {}");
    Weights w = weights_of(m, 7);
    Error e = { 0 };
    write_weights(&w, 1, scratch_path(state, "w.safetensors", file));
    scratch_write(scratch_path(state, "text", text), "some text", 9);
    assert_null(mixing_of_text(m, file, text, 1, &e));
    assert_non_null(strstr(e.text, w.g->param[1].node->attr->name));
    write_weights(&w, -1, file);
    scratch_write(text, "a", 1);
    assert_null(mixing_of_text(m, file, text, 1, &e));
    assert_non_null(strstr(e.text, "at least 2 tokens"));
    assert_null(mixing_of_text(m, scratch_path(state, "none", file), text, 1, &e));
    assert_int_equal(e.status, STATUS_USER);
    free_weights(&w);
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(entries_times_sources_are_the_reads, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(sources_are_where_their_tokens_are, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(the_last_share_is_looked_at, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_an_error, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
