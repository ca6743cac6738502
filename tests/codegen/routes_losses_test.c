/* SPDX-License-Identifier: MIT
** Losses of what works on a list of tokens: sublayers' and routes' own, and cross entropies of an
** early exit (m:nll). A loss of a list's tokens counts as the mean over these, as 0 if there are
** none: against the same written with masks.  In the interpreter and compiled, gradients too.
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

enum { SEQUENCES = 2, TIME = 9, CONTEXT = 16, VOCAB = 12, SPEC = 3000 };

static const char head[] =
    "local function likes(m) return reshape(embed(m:param('list', 'likes', { %d, 1 }, 1), "
    "tokens()), {}) end\n"
    "local function losses(m, site, x, h)\n"
    "  return 0.3 * mean(h * h, 1) + 0.2 * m:nll(m:norm(site.prefix .. '.exit', x)) end\n"
    "local lossy = sublayer { forward = function(m, site, x)\n"
    "  local h = relu(m:linear(site, 'up', x, 9))\n"
    "  return m:linear(site, 'down', h, m.dim), losses(m, site, x, h) end }\n"
    "local function averaged(mask, loss) return token_sum(mask * loss) / max(token_sum(mask), 1) "
    "end\n"
    "local written = sublayer { forward = function(m, site, x)\n"
    "  local h, mask = relu(m:linear(site, 'up', x, 9)), step(likes(m))\n"
    "  return reshape(mask, { 1 }) * m:linear(site, 'down', h, m.dim), averaged(mask, losses(m, "
    "site, x, h)) end }\n"
    "local one = route { sublayer = 'it', run = function(r, site, x, body)\n"
    "  return body { rows = rows(likes(r)) } end }\n"
    "local layers = route { run = function(r, site, x, body)\n"
    "  local list = rows(likes(r)) local part = gather(x, list)\n"
    "  return x + scatter(body(part) - part, list) end }\n"
    "local named = route { run = function(r, site, x, body) return body(x, { rows = "
    "rows(likes(r)) }) end }\n"
    "local own = route { run = function(r, site, x, body)\n"
    "  local list = rows(likes(r)) local part = gather(x, list) local y = body(part)\n"
    "  return x + scatter(y - part, list), 0.7 * mean(y * y, 1) end }\n"
    "local own_written = route { run = function(r, site, x, body)\n"
    "  local mask, y = step(likes(r)), body(x)\n"
    "  return x + reshape(mask, { 1 }) * (y - x), averaged(mask, 0.7 * mean(y * y, 1)) end }\n"
    "return model { name = 'm', vocab = %d, context = %d, dim = 16, norm = rmsnorm { eps = 1e-5 }, "
    "layers = times(2, layer { %s }) }\n";

static const struct {
    const char *routed, *written;
} pair[] = {
    { "lossy { name = 'it' }, route = one {}", "written { name = 'it' }" },
    { "lossy { name = 'it' }, route = layers {}", "written { name = 'it' }" },
    { "lossy { name = 'it' }, route = named {}", "written { name = 'it' }" },
    { "attention { heads = 2 }, lossy { name = 'it' }, route = one {}",
      "attention { heads = 2 }, written { name = 'it' }" },
    { "mlp { hidden = 8 }, route = own {}", "mlp { hidden = 8 }, route = own_written {}" },
};
enum { PAIRS = sizeof pair / sizeof *pair };

static void write_spec(const char *layer, char text[SPEC]) {
    snprintf(text, SPEC, head, VOCAB, VOCAB, CONTEXT, layer);
}

/* Of 'every' ids one is in the list; 0: none is. */
static Case *listed_case(Graph *g, uint64_t seed, int every) {
    Case *c = compiled_case(g, seed, SEQUENCES, TIME, VOCAB);
    int at = param_index(g, "list.likes");
    for (int v = 0; v < VOCAB; v++)
        c->value[at][v] = every && v % every == 0 ? 1 : -1;
    return c;
}

static void expect_losses(int i, const Case *c, const Graph *a, const Case *d, const Graph *b,
                          bool none) {
    EvalInput in = case_input(c), other = case_input(d);
    Eval *one = eval_new(a, &in), *two = eval_new(b, &other);
    double loss = *eval_value(one, graph_find(a, "loss")),
           cross = *eval_value(one, graph_find(a, "cross_entropy"));
    if (!(none ? loss == cross : loss > cross + 1e-3))
        fail_msg("%s: the loss is %g, the cross entropy %g", pair[i].routed, loss, cross);
    expect_twin(pair[i].routed, "loss", &loss, eval_value(two, graph_find(b, "loss")), 1, 0);
    for (int k = 0; k < c->g->nparam; k++) {
        const Node *n = c->g->param[k].node;
        expect_twin(pair[i].routed, n->attr->name, gradient_of(one, a, n->attr->name),
                    gradient_of(two, b, n->attr->name), shape_count(&n->shape), 1e-3);
    }
    eval_free(one), eval_free(two);
}

static void losses_are_means_of_a_list(void **state) {
    for (int i = 0; i < PAIRS; i++) {
        char text[SPEC];
        write_spec(pair[i].routed, text);
        Model *routed = scratch_model(state, "%s", text);
        write_spec(pair[i].written, text);
        Model *written = scratch_model(state, "%s", text);
        Graph *a = with_gradients(routed->graph), *b = with_gradients(written->graph);
        for (int every = 0; every < 4; every++) {
            Case *c = listed_case(routed->graph, (uint64_t)(i + 1), every),
                 *d = case_like(c, written->graph);
            expect_losses(i, c, a, d, b, !every);
            case_free(c), case_free(d);
        }
        graph_free(a), graph_free(b);
        spec_free(routed), spec_free(written);
    }
}

static void compiled_losses_agree(void **state) {
    for (int i = 0; i < PAIRS; i++) {
        char text[SPEC], path[SCRATCH_PATH], why[600];
        Built b;
        write_spec(pair[i].routed, text);
        built_open(&b, scratch_path(state, "losses.lua", path), text,
                   &(CodegenOptions){ .cpu = "native", .passes.check = i % 2 });
        for (int every = 0; every < 4; every++) {
            Case *c = listed_case(b.m->graph, (uint64_t)(9 + i), every);
            Instance r;
            Expected e;
            expected_open(&e, c, op_info);
            instance_open(&r, &b.c, SEQUENCES * TIME, 1 + i % 2);
            instance_weights(&r, c);
            if (!compiled_agrees(&r, c, &e, why, sizeof why))
                fail_msg("%s, %d: %s", pair[i].routed, every, why);
            instance_close(&r);
            expected_close(&e);
            case_free(c);
        }
        built_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_means_of_a_list),
        cmocka_unit_test(compiled_losses_agree),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
