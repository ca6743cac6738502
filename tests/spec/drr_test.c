/* SPDX-License-Identifier: MIT
** Depth Routing Residuals beyond what the golden cases say: which parameters
** there are, the published sizes, who sees whom.  In the interpreter.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numeric.h"
#include "scratch_spec.h"

enum { V = 11, T = 13, LAYERS = 5 };

static Model *small(void **state, const char *residual, const char *causal) {
    return scratch_model(
        state,
        "return model { name = 'm', vocab = %d, context = %d, dim = 8, norm = rmsnorm {}, residual "
        "= %s,\n"
        "layers = times(%d, layer { attention { heads = 2, causal = %s }, mlp { hidden = 6 } }) }",
        V, T, residual, LAYERS, causal);
}

/* == Parameters =========================================================== */

static const Param *find(const Model *m, const char *name) {
    for (int i = 0; i < m->graph->nparam; i++)
        if (!strcmp(m->graph->param[i].node->attr->name, name)) return &m->graph->param[i];
    return NULL;
}

static int64_t parameters(const Model *m) {
    int64_t count = 0;
    for (int i = 0; i < m->graph->nparam; i++)
        count += shape_count(&m->graph->param[i].node->shape);
    return count;
}

static int64_t published(void **state, const char *residual) {
    Model *m = scratch_model(state,
                             "return model { name = 'm', vocab = 32000, context = 2048, dim = 512, "
                             "norm = layernorm {}, residual = %s,\n"
                             "embedding = { positions = 'learned' }, layers = times(12, layer {\n"
                             "attention { heads = 8, bias = true, causal = false }, mlp { hidden = "
                             "2048, activation = 'gelu', bias = true } }) }",
                             residual);
    int64_t count = parameters(m);
    spec_free(m);
    return count;
}

/* The listing makes query, key, value and output matrices also where there is
** nothing to read: for layer 0's short memory, and the long one of the first block. */
static void published_sizes(void **state) {
    int64_t without = published(state, "standard {}"), with = published(state, "drr { heads = 8 }");
    int64_t unused = (1 + 4) * 4 * 512 * 512;
    printf("parameters: %lld without, published 55262208; %lld with, published 83874340, of which "
           "%lld read nothing\n",
           (long long)without, (long long)with, (long long)unused);
    assert_int_equal(without, 55262208);
    assert_int_equal(with + unused, 83874340);
}

static void router_starts_at(void **state) {
    static const double share[] = { 0.8214, 0.1112, 0.0674 };
    Model *m = small(state, "drr { heads = 2, causal = true, chunk = 4 }", "true");
    const Init *bias = &find(m, "layers.0.residual.router.out.bias")->init;
    const Init *w = &find(m, "layers.0.residual.router.out.weight")->init;
    double total = 0;
    assert_true(w->kind == INIT_CONSTANT && w->value == 0 && bias->kind == INIT_LIST);
    for (int i = 0; i < 3; i++)
        total += exp(bias->list[i]);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(exp(bias->list[i]) / total - share[i]) < 5e-5);
    spec_free(m);
}

/* Queries start at 0, as everywhere. */
static void learned_queries_start_at_zero(void **state) {
    Model *m = small(
        state, "drr { heads = 2, block_layers = 1, causal = true, chunk = 4, query = 'learned' }",
        "true");
    const Param *recent = find(m, "layers.1.residual.short.query"),
                *far = find(m, "layers.1.residual.long.query");
    assert_true(recent->init.kind == INIT_CONSTANT && recent->init.value == 0);
    assert_true(far->init.kind == INIT_CONSTANT && far->init.value == 0);
    spec_free(m);
}

/* Memories of layer i exist from the given layers on; LAYERS: never. */
static void expect_memories(void **state, const char *residual, const char *query, int long_from) {
    char name[100];
    Model *m = small(state, residual, "true");
    for (int i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof name, "layers.%d.residual.short.%s", i, query);
        assert_int_equal(find(m, name) != NULL, i > 0);
        snprintf(name, sizeof name, "layers.%d.residual.long.%s", i, query);
        assert_int_equal(find(m, name) != NULL, i >= long_from);
        snprintf(name, sizeof name, "layers.%d.residual.router.hidden.weight", i);
        assert_non_null(find(m, name));
    }
    assert_int_equal(find(m, "summary.proj.weight") != NULL, long_from < LAYERS);
    spec_free(m);
}

static void memories_exist_where_read(void **state) {
    expect_memories(state, "drr { heads = 2, block_layers = 2, causal = true, chunk = 4 }",
                    "q.weight", 2);
    expect_memories(
        state, "drr { heads = 2, block_layers = 1, causal = true, chunk = 12, query = 'learned' }",
        "query", 1);
    expect_memories(state, "drr { heads = 2, block_layers = 5, causal = true, chunk = 4 }",
                    "k.weight", LAYERS);
    expect_memories(state, "drr { heads = 2, block_layers = 1, causal = true, chunk = 13 }",
                    "v.weight", LAYERS);
}

/* == Who sees whom ======================================================== */

/* Logits [T, V] with token 'at' changed, or parameters called '...part...' moved. */
static double *logits(Model *m, int at, const char *part) {
    Case *c = case_new(m->graph, 7, 1, T, V, -0.7, 0.7);
    if (at >= 0) c->tokens[at] = (c->tokens[at] + 1) % V;
    for (int i = 0; part && i < m->graph->nparam; i++) {
        const Node *n = m->graph->param[i].node;
        for (int64_t k = 0; strstr(n->attr->name, part) && k < shape_count(&n->shape); k++)
            c->value[i][k] += 0.5;
    }
    EvalInput in = case_input(c);
    Eval *ev = eval_new(m->graph, &in);
    double *copy = malloc(T * V * sizeof *copy);
    memcpy(copy, eval_value(ev, graph_find(m->graph, "logits")), T * V * sizeof *copy);
    eval_free(ev);
    case_free(c);
    return copy;
}

/* The first position whose logits a change reaches; T: none. */
static int reached(Model *m, int at, const char *part) {
    double *x = logits(m, -1, NULL), *y = logits(m, at, part);
    int t = 0;
    while (t < T && !memcmp(x + t * V, y + t * V, V * sizeof *x))
        t++;
    free(x), free(y);
    return t;
}

static void causal_sees_no_later_token(void **state) {
    Model *m = small(
        state, "drr { heads = 4, window = 2, block_layers = 1, causal = true, chunk = 3 }", "true");
    assert_null(m->acausal);
    for (int at = 0; at < T; at++)
        assert_int_equal(reached(m, at, NULL), at);
    spec_free(m);
}

/* Chunk 0 is complete, and seen, from position 'chunk' on; before it the long
** memory is exactly 0. */
static void first_chunk_is_seen_when_complete(void **state) {
    for (int chunk = 1; chunk < T; chunk += 4) {
        char residual[200];
        snprintf(
            residual, sizeof residual,
            "drr { heads = 4, block_layers = 2, causal = true, chunk = %d, summary_tokens = 3 }",
            chunk);
        Model *m = small(state, residual, "true");
        assert_int_equal(reached(m, -1, ".long."), chunk);
        assert_int_equal(reached(m, -1, ".short."), 0);
        spec_free(m);
    }
}

static void as_published_sees_all(void **state) {
    Model *m = small(state, "drr { heads = 2, block_layers = 2, summary_tokens = 3 }", "false");
    assert_string_equal(m->acausal, "layers.0.attention");
    assert_int_equal(reached(m, T - 1, NULL), 0);
    assert_int_equal(reached(m, -1, ".long."), 0);
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_sizes),
        cmocka_unit_test(router_starts_at),
        cmocka_unit_test(learned_queries_start_at_zero),
        cmocka_unit_test(memories_exist_where_read),
        cmocka_unit_test(causal_sees_no_later_token),
        cmocka_unit_test(first_chunk_is_seen_when_complete),
        cmocka_unit_test(as_published_sees_all),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
