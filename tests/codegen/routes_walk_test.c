/* SPDX-License-Identifier: MIT
** Every sublayer of the library, and some of a user's, under every route: what is built computes
** what the interpreter says, has the gradients of its loss, and token by token what the full pass
** has; what cannot be is refused by name.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "routed_kinds.h"
#include "scratch_spec.h"

enum { SEQUENCES = 3, TIME = 11, CONTEXT = 16, VOCAB = 13, SPEC = 3000 };

static const struct {
    const char *route;
    bool one;   /* of one sublayer */
    bool hides; /* tokens from others */
    bool ahead; /* cannot be generated with */
} routes[] = {
    { "dtr {}", true, false, false },
    { "dtr { bypass = 'none', bias = false }", true, false, false },
    { "dtr { choice = 'expert', capacity = 0.4 }", true, false, true },
    { "dtr { choice = 'skip' }", true, false, false },
    { "mod { capacity = 0.5 }", false, false, false },
    { "dllm { hidden = 4, reserve = 1 }", false, true, false },
    { "stochastic_depth { keep = 0.5 }", false, false, false },
};
enum { ROUTES = sizeof routes / sizeof *routes };

/* The first sublayer is called 'attention', whatever it is. */
static void write_spec(int kind, int route, char text[SPEC]) {
    char layer[1500], named[1500], *to = named;
    snprintf(layer, sizeof layer, routed_kinds[kind].sublayers, "", "", "");
    for (const char *from = layer; *from;)
        if (!strncmp(from, "'it'", 4)) to = stpcpy(to, "'attention'"), from += 4;
        else *to++ = *from++;
    *to = 0;
    snprintf(text, SPEC,
             "return model { name = 'm', vocab = %d, context = %d, dim = 16, norm = rmsnorm { eps "
             "= 1e-5 }, route_penalty = 0.1,\n  layers = times(2, layer { %s, route = %s }) }\n",
             VOCAB, CONTEXT, named, routes[route].route);
}

/* What may refuse a kind under a route; NULL: nothing. */
static const char *refusal(int kind, int route) {
    const RoutedKind *k = &routed_kinds[kind];
    bool several = strstr(k->sublayers, "reads = 'each'")
        || (k->layer && strstr(k->sublayers, "rel"));
    if (routes[route].one && several) return "expected one read under a route, found several";
    return routes[route].hides ? k->hiding : NULL;
}

static bool is_refused(void **state, int kind, int route, const char *text) {
    char path[SCRATCH_PATH];
    Error error;
    const char *wanted = refusal(kind, route);
    scratch_write(scratch_path(state, "walk.lua", path), text, strlen(text));
    Model *m = spec_load(path, NULL, &error);
    if (!m != !!wanted || (wanted && !strstr(error.text, wanted)))
        fail_msg("%s\n%s: expected %s", text, m ? "is built" : error.text, wanted);
    spec_free(m);
    return wanted;
}

static void every_sublayer_has_gradients(void **state) {
    int built = 0, refused = 0;
    for (int i = 0; i < ROUTED_KINDS; i++)
        for (int k = 0; k < ROUTES; k++) {
            char text[SPEC];
            write_spec(i, k, text);
            if (is_refused(state, i, k, text)) {
                refused++;
                continue;
            }
            Model *m = scratch_model(state, "%s", text);
            Case *c = compiled_case(m->graph, (uint64_t)(3 + i), 2, 7, VOCAB);
            double error = case_gradient_error(c, op_info);
            if (!(error <= GRADIENT_TOLERANCE))
                fail_msg("%s\ngradients are off by %g", text, error);
            built++;
            case_free(c);
            spec_free(m);
        }
    if (built < 150 || refused < 10) fail_msg("built %d, refused %d", built, refused);
}

static void expect_steps(const Built *b, const char *text) {
    static const int prompt[SEQUENCES] = { 1, 4, 7 };
    Instance r;
    instance_open(&r, &b->c, SEQUENCES * TIME, 1);
    instance_fill(&r, 5);
    instance_set_up(&r, (strata_setup){ .flags = STRATA_AS_GENERATED });
    int32_t *ids = some_ids(&b->c, 3, SEQUENCES * TIME);
    float *whole = logits_of(&r, ids, SEQUENCES, TIME),
          *steps = decoded_logits(&r, ids, SEQUENCES, TIME, prompt);
    for (int s = 0; s < SEQUENCES; s++) {
        int from = s * TIME + prompt[s] - 1;
        double apart = difference(steps + from * VOCAB, whole + from * VOCAB,
                                  (TIME - prompt[s] + 1) * VOCAB);
        if (!(apart <= 3e-5)) fail_msg("%s\nsequence %d differs by %g", text, s, apart);
    }
    free(whole), free(steps), free(ids);
    instance_close(&r);
}

/* Each sublayer under one of the routes at least, each route with several sublayers. */
static void compiled_models_agree(void **state) {
    static const Extent extent[] = { { SEQUENCES, TIME }, { 1, 1 }, { 0 } };
    int shaky = 0, all = 0;
    for (int i = 0; i < ROUTED_KINDS; i++)
        for (int k = i % ROUTES, n = 0; n < 1 + !(i % 4); k = (k + 3) % ROUTES, n++) {
            char text[SPEC], path[SCRATCH_PATH], why[700];
            Built b;
            if (refusal(i, k)) continue;
            CodegenOptions o = { .cpu = "native", .passes.check = i % 2 };
            write_spec(i, k, text);
            built_open(&b, scratch_path(state, "walk.lua", path), text, &o);
            if (!routes[k].ahead) expect_steps(&b, text);
            Graph *g = b.m->graph;
            b.m->graph = NULL;
            Answer answer = graph_answer(g, (uint64_t)(i + 1), &o, extent, why, sizeof why);
            if (answer == DIFFERS) fail_msg("%s\n%s", text, why);
            shaky += answer == SHAKY, all++;
            built_close(&b);
        }
    if (all < 25 || shaky > all / 4) fail_msg("%d of %d are shaky", shaky, all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sublayer_has_gradients),
        cmocka_unit_test(compiled_models_agree),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
