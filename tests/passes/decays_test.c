/* SPDX-License-Identifier: MIT
** Decays that are products of a head's numbers and of what parameters make of channels: however a
** spec writes them, a training step stores no number for each channel, nor its gradient; any other
** decay stays as it is.
*/
#include "test.h"

#include "passes.h"
#include "plan.h"
#include "recurrence.h"
#include "scratch_spec.h"

enum { HEADS = 6, CHANNELS = 5 };

/* Of 6 heads 'dt' has a number each, 'A' one for each of their 5 channels; 'c' has one for each
** channel; 'delta' is there or empty.  What a decay does not name is not there. */
static Model *load(void **state, const char *decay, const char *delta) {
    return scratch_model(
        state,
        "local decays = sublayer { forward = function(m, site, x)\n"
        "  local function f(name, H, d)\n"
        "    return reshape(m:linear(site, name, x, H * d), { H, d })\n"
        "  end\n"
        "  local made, make = {}, {\n"
        "    dt = function() return softplus(f('dt', 6, 1)) end,\n"
        "    wide = function() return -softplus(f('wide', 6, 5)) end,\n"
        "    A = function() return -exp(m:param(site, 'A', { 6, 5 }, 0.1)) end,\n"
        "    c = function() return -exp(m:param(site, 'c', { 5 }, 0.1)) end,\n"
        "  }\n"
        "  local function the(name)\n"
        "    made[name] = made[name] or make[name]()\n"
        "    return made[name]\n"
        "  end\n"
        "  local y = recurrence(f('q', 2, 5), f('k', 2, 5), f('v', 6, 3), { decay = %s%s })\n"
        "  return m:linear(site, 'o', reshape(y, { 18 }), m.dim)\n"
        "end }\n"
        "return model { name = 'plan', vocab = 20, context = 16, dim = 8, norm = rmsnorm {},\n"
        "  layers = { layer { decays {} } } }\n",
        decay, delta);
}

static Graph *training(const Model *m, bool pass) {
    Graph *g = graph_extract(m->graph, (const char *const[]){ "nll", "loss", NULL });
    if (pass) g = pass_decays(g);
    graph_verify(g);
    pass_gradient(g);
    graph_verify(g);
    return g;
}

/* Values of tokens that a step's gradients need, with a number for each channel of each head. */
static int by_channel(Graph *g) {
    const bool *needed = graph_needed(g);
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        const Shape *s = &g->node[i]->shape;
        n += needed[i] && s->lead == LEAD_TOKENS && s->rank == 2 && s->dim[0] == HEADS
            && s->dim[1] == CHANNELS;
    }
    return n;
}

static bool has_rates(const Graph *g) {
    bool all = true;
    for (int i = 0; i < g->n; i++)
        if (g->node[i]->op == OP_recurrence) all &= recurrence_shape(g->node[i]).rate > 0;
    return all;
}

typedef struct DecayForm {
    const char *decay;
    bool product; /* of factors */
} DecayForm;

static const DecayForm forms[] = {
    { "the 'dt' * the 'A'", true },
    { "the 'A' * the 'dt'", true },
    { "-(the 'dt' * exp(the 'c'))", true },
    { "(-the 'dt') * exp(the 'c')", true },
    { "2 * the 'dt' * the 'A' * 0.5", true },
    { "the 'dt' * (the 'A' * 2) * sigmoid(the 'dt')", true },
    { "the 'dt' * the 'A' / (1 + the 'c' * the 'c')", true },
    { "the 'dt' * the 'c'", true },
    { "the 'dt' * 0.5 * -1 * (the 'A' * the 'A')", true },
    { "the 'A'", true }, /* the same for all tokens */
    { "the 'wide'", false },
    { "the 'dt' * the 'wide'", false },
    { "the 'A' * the 'wide'", false },
    { "the 'dt' * the 'A' + the 'A'", false },
    { "the 'dt' + the 'A'", false },
    { "the 'A' / (1 + the 'dt')", false },
};
enum { FORMS = sizeof forms / sizeof *forms };

static void products_are_not_stored(void **state) {
    for (int i = 0; i < 2 * FORMS; i++) {
        const DecayForm *f = &forms[i / 2];
        Model *m = load(state, f->decay, i % 2 ? ", delta = sigmoid(f('beta', 6, 1))" : "");
        Graph *with = training(m, true), *without = training(m, false);
        assert_true(by_channel(without) > 0);
        assert_false(has_rates(without));
        if (has_rates(with) != f->product) fail_msg("decay %s", f->decay);
        if (f->product && by_channel(with)) fail_msg("decay %s is by channel", f->decay);
        graph_free(with), graph_free(without);
        spec_free(m);
    }
}

/* As deep as a spec can write it, which the pass does not follow. */
static void long_products_stay(void **state) {
    Model *m = load(
        state,
        "(function() local x = the 'dt' for i = 1, 20000 do x = x * the 'c' end return x end)()",
        "");
    Graph *g = training(m, true);
    assert_false(has_rates(g));
    graph_free(g);
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_not_stored),
        cmocka_unit_test(long_products_stay),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
