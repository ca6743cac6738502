/* SPDX-License-Identifier: MIT
** Routes whose sublayers know nothing of them, against the same written out for all tokens with
** masks (tests/routes/masked.lua): what does not attend has no weight in a softmax, and nothing of
** it gets into a state.  Logits, losses and gradients agree, of the interpreter to the rounding of
** float64, of what is compiled as any agrees with the interpreter, and token by token.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "scratch_spec.h"
#include "twin_model.h"

enum { CONTEXT = 16, VOCAB = 13, SPEC = 2000 };

/* What stands in the braces of a layer; 'written': the same without a route. */
typedef struct Pair {
    const char *routed, *written;
} Pair;

#define LIKES(name) ", route = t.likes '" name "'"
#define MLP ", mlp { hidden = 24 }"
#define UNDER(router, f) "t.under('" router "', t." f ") { name = 'attention', norm = raw }"

static const Pair pairs[] = {
    { "attention { heads = 4 }" MLP LIKES("mlp"),
      "attention { heads = 4 }, t.under('likes', t.mlp) { name = 'mlp', norm = raw }" },
    { "attention { heads = 4 }" MLP LIKES("attention"), UNDER("likes", "attention") MLP },
    { "t.own { name = 'attention' }" MLP LIKES("attention"), UNDER("likes", "attention") MLP },
    { "t.own { name = 'attention' }" MLP ", route = dtr { choice = 'skip', bypass = 'none' }",
      UNDER("skip", "attention") MLP },
    { "attention { heads = 4 }" MLP ", route = dtr { choice = 'skip', bypass = 'none' }",
      UNDER("skip", "attention") MLP },
    { "t.own { name = 'attention' }" MLP ", route = dtr {}", UNDER("dtr", "attention") MLP },
    { "attention { heads = 4, rope = { theta = 100 } }" MLP ", route = dtr { bypass = 'none' }",
      UNDER("dtr", "turned") MLP },
    { "t.own_turned { name = 'attention' }" MLP ", route = dtr {}", UNDER("dtr", "turned") MLP },
    { "t.own_slopes { name = 'attention' }" MLP ", route = dtr { bypass = 'none' }",
      UNDER("dtr", "slopes") MLP },
    { "t.own_slopes { name = 'attention' }" MLP LIKES("attention"), UNDER("likes", "slopes") MLP },
    { "gated_delta { heads = 4, conv = 0 }" MLP ", route = dtr {}",
      UNDER("dtr", "gated_delta") MLP },
    { "gated_delta { heads = 4, conv = 0 }" MLP LIKES("gated_delta"),
      UNDER("likes", "gated_delta") MLP },
    { "linear_attention { heads = 4, decay = 'fixed' }" MLP ", route = dtr {}",
      UNDER("dtr", "retention") MLP },
    { "mla { heads = 4, nope_dim = 4, rope_dim = 2, value_dim = 5, latent = 7, rope = { theta = "
      "100 "
      "} }" MLP ", route = dtr { bypass = 'none' }",
      UNDER("dtr", "latent") MLP },
    { "attention { heads = 4, rope = { theta = 100 } }" MLP
      ", route = t.likes_with('attention', { bypass = 'vo' })",
      "t.passing { name = 'attention', norm = raw }" MLP },
    { "t.scaled { name = 'it' }" MLP ", route = t.likes_with('it', { factor = 3 })",
      "t.under('likes', t.tripled) { name = 'it', norm = raw }" MLP },
    { "t.scaled { name = 'it' }, route = t.among", "t.scaled { name = 'it' }, route = t.written" },
    { "t.lossy { name = 'it' }" MLP ", route = t.twice", "t.lossy { name = 'it' }" MLP },
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static const Extent extents[] = { { 3, 14 }, { 2, 1 }, { 1, CONTEXT } };
enum { EXTENTS = sizeof extents / sizeof *extents };

static int set_up(void **state) {
    int status = scratch_setup(state);
    copy_routes(state, (const char *const[]){ "dense.lua", "masked.lua", NULL });
    return status;
}

static void write_spec(const char *layer, char text[SPEC]) {
    snprintf(text, SPEC,
             "local t, raw = require 'masked', { before = false }\n"
             "return model { name = 'm', vocab = %d, context = %d, dim = 16, norm = rmsnorm { eps "
             "= 1e-5 },\n  layers = times(2, layer { %s }) }\n",
             VOCAB, CONTEXT, layer);
}

static Model *load(void **state, const char *layer) {
    char text[SPEC];
    write_spec(layer, text);
    return scratch_model(state, "%s", text);
}

static void expect_same(const Pair *p, const Case *c, const Graph *a, const Case *d,
                        const Graph *b) {
    static const char *const output[] = { "logits", "loss", "cross_entropy" };
    EvalInput in = case_input(c), other = case_input(d);
    Eval *one = eval_new(a, &in), *two = eval_new(b, &other);
    for (int i = 0; i < 3; i++)
        expect_twin(p->routed, output[i], eval_value(one, graph_find(a, output[i])),
                    eval_value(two, graph_find(b, output[i])), i ? 1 : c->batch * c->time * VOCAB,
                    1e-3);
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *n = c->g->param[i].node;
        expect_twin(p->routed, n->attr->name, gradient_of(one, a, n->attr->name),
                    gradient_of(two, b, n->attr->name), shape_count(&n->shape), 1e-3);
    }
    eval_free(one), eval_free(two);
}

/* How many tokens the routes took in all. */
static int64_t taken(const Case *c) {
    EvalInput in = case_input(c);
    in.keep = true;
    Eval *ev = eval_new(c->g, &in);
    int64_t count = 0;
    for (int i = 0; i < c->g->n; i++)
        for (int64_t t = 0; c->g->node[i]->op == OP_rows && t < c->batch * c->time; t++)
            count += eval_value(ev, c->g->node[i])[t] >= 0;
    eval_free(ev);
    return count;
}

static void routes_are_what_is_written(void **state) {
    for (int i = 0; i < PAIRS; i++) {
        Model *routed = load(state, pairs[i].routed), *written = load(state, pairs[i].written);
        Graph *a = with_gradients(routed->graph), *b = with_gradients(written->graph);
        int64_t some = 0, all = 0;
        for (int x = 0; x < EXTENTS; x++) {
            Case *c = compiled_case(routed->graph, (uint64_t)(1 + i), extents[x].batch,
                                    extents[x].time, VOCAB),
                 *d = case_like(c, written->graph);
            expect_same(&pairs[i], c, a, d, b);
            some += taken(c), all += 2 * c->batch * c->time;
            case_free(c), case_free(d);
        }
        bool skips = strstr(pairs[i].routed, "skip") || strstr(pairs[i].routed, "twice");
        if (skips ? some : !some || some == all)
            fail_msg("%s: took %d of %d", pairs[i].routed, (int)some, (int)all);
        graph_free(a), graph_free(b);
        spec_free(routed), spec_free(written);
    }
}

/* == Compiled models ====================================================== */

static void expect_steps(const Built *b, const Case *c, const char *layer) {
    static const int prompt[] = { 1, 5, 9 };
    Instance r;
    instance_open(&r, &b->c, c->batch * c->time, 1);
    instance_weights(&r, c);
    instance_set_up(&r, (strata_setup){ .flags = STRATA_AS_GENERATED });
    float *whole = logits_of(&r, c->tokens, c->batch, c->time),
          *steps = decoded_logits(&r, c->tokens, (int)c->batch, c->time, prompt);
    for (int s = 0; s < c->batch; s++) {
        int64_t from = s * c->time + prompt[s] - 1;
        double apart = difference(steps + from * VOCAB, whole + from * VOCAB,
                                  (c->time - prompt[s] + 1) * VOCAB);
        if (!(apart <= 3e-5)) fail_msg("%s: sequence %d differs by %g", layer, s, apart);
    }
    free(whole), free(steps);
    instance_close(&r);
}

static void compiled_models_agree(void **state) {
    for (int i = 0; i < PAIRS; i++) {
        char text[SPEC], path[SCRATCH_PATH], why[600];
        Built b;
        Model *written = load(state, pairs[i].written);
        write_spec(pairs[i].routed, text);
        built_open(&b, scratch_path(state, "routed.lua", path), text,
                   &(CodegenOptions){ .cpu = "native", .passes.check = i % 2 });
        for (int x = 0; x < EXTENTS; x++) {
            Case *c = compiled_case(b.m->graph, (uint64_t)(20 + i), extents[x].batch,
                                    extents[x].time, VOCAB),
                 *d = case_like(c, written->graph);
            Instance r;
            Expected e;
            expected_open(&e, d, op_info);
            instance_open(&r, &b.c, c->batch * c->time, 1 + x);
            instance_weights(&r, c);
            if (!compiled_agrees(&r, c, &e, why, sizeof why))
                fail_msg("%s: %s", pairs[i].routed, why);
            instance_close(&r);
            if (c->time == 14) expect_steps(&b, c, pairs[i].routed);
            expected_close(&e);
            case_free(c), case_free(d);
        }
        built_close(&b);
        spec_free(written);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_are_what_is_written),
        cmocka_unit_test(compiled_models_agree),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_teardown);
}
