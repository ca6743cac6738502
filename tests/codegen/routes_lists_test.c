/* SPDX-License-Identifier: MIT
** A list of tokens that a route hands to sublayers, of the library and of the user's, to one
** sublayer or to a layer: the tokens of a list are a sequence of their own, and the others get
** nothing.  So the same layers without a route say what each computes: of a list's tokens alone,
** and of the others alone where every sublayer gives 0.  Logits, losses and gradients agree, of the
** interpreter to the rounding of float64; what is compiled agrees with the interpreter, and what
** it generates with the full pass.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "routed_kinds.h"
#include "scratch_spec.h"
#include "twin_model.h"

enum { SEQUENCES = 2, TIME = 14, TOKENS = SEQUENCES * TIME, CONTEXT = 16, VOCAB = 12 };

/* How a route hands on the list: to the sublayer 'it'; to the layer, as rows of the stream or by
** name; by name within the rows of another list. */
typedef enum Way { TO_SUBLAYER, AS_ROWS, TO_LAYER, WITHIN, WAYS } Way;

static const char *const run[WAYS] = {
    "sublayer = 'it', run = function(r, site, x, body) return body { rows = of(r, 'likes') } end",
    "run = function(r, site, x, body) local list = of(r, 'likes') local part = gather(x, list)\n"
    "    return x + scatter(body(part) - part, list) end",
    "run = function(r, site, x, body) return body(x, { rows = of(r, 'likes') }) end",
    "run = function(r, site, x, body) local list = of(r, 'others') local part = gather(x, list)\n"
    "    return x + scatter(body(part, { rows = of(r, 'likes') }) - part, list) end",
};

/* == Models =============================================================== */

/* Two layers of a kind; no way: without a route, 'fields' in the braces of each sublayer. */
static void write_spec(const RoutedKind *k, Way way, const char *fields, char *text, size_t size) {
    char layer[1500];
    snprintf(layer, sizeof layer, k->sublayers, fields, fields, fields);
    snprintf(text, size,
             "local function of(r, name) return rows(reshape(embed(r:param('list', name, { %d, 1 "
             "}, 1), tokens()), {})) end\n"
             "local way = route { %s }\n"
             "return model { name = 'm', vocab = %d, context = %d, dim = 16, norm = rmsnorm { eps "
             "= 1e-5 },\n  layers = times(2, layer { %s%s }) }\n",
             VOCAB, way < WAYS ? run[way] : run[0], VOCAB, CONTEXT, layer,
             way < WAYS ? ", route = way {}" : "");
}

/* Of what ids a list has the tokens. */
typedef bool Listed(int id);
static bool some(int id) { return id % 3 != 1; }
static bool most(int id) { return id % 4 != 0; }
static bool none(int id) { return id < 0; }
static bool all(int id) { return id >= 0; }

static void choose(Case *c, const char *name, Listed *listed) {
    for (int i = 0; i < c->g->nparam; i++)
        for (int v = 0; !strcmp(c->g->param[i].node->attr->name, name) && v < VOCAB; v++)
            c->value[i][v] = listed(v) ? 1 : -1;
}

/* == Alone ================================================================ */

/* Of a model without a route: the tokens of one sequence that are in the list, or those that are
** not, as a sequence. */
typedef struct Alone {
    Graph *g;
    bool listed;
} Alone;

static bool works(Way way, int id, Listed *listed) {
    return listed(id) && (way != WITHIN || most(id));
}

/* What is expected of a routed case: logits, loss, gradients by its parameters. */
typedef struct Wanted {
    double logits[TOKENS][VOCAB], loss;
    double **gradient;
} Wanted;

static void add_gradients(Wanted *w, const Case *c, const Alone *a, const Eval *ev, double share) {
    for (int i = 0; i < c->g->nparam; i++) {
        char name[600];
        snprintf(name, sizeof name, "grad.%s", c->g->param[i].node->attr->name);
        const Node *n = graph_find(a->g, name);
        const double *x = n ? eval_value(ev, n) : NULL;
        for (int64_t k = 0; x && k < shape_count(&n->shape); k++)
            w->gradient[i][k] += share * x[k];
    }
}

static void add_alone(Wanted *w, const Case *c, const Alone *a, Way way, int sequence,
                      Listed *listed) {
    int place[TIME], n = 0;
    for (int t = 0; t < TIME; t++)
        if (works(way, c->tokens[sequence * TIME + t], listed) == a->listed)
            place[n++] = sequence * TIME + t;
    if (!n) return;
    Case *own = case_new(a->g, 1, 1, n, VOCAB, 0, 1);
    copy_values(c, own);
    for (int i = 0; i < n; i++)
        own->tokens[i] = c->tokens[place[i]], own->targets[i] = c->targets[place[i]];
    EvalInput in = case_input(own);
    Eval *ev = eval_new(a->g, &in);
    const double *logits = eval_value(ev, graph_find(a->g, "logits"));
    for (int i = 0; i < n; i++)
        memcpy(w->logits[place[i]], logits + i * VOCAB, sizeof *w->logits);
    double share = (double)n / TOKENS;
    w->loss += share * *eval_value(ev, graph_find(a->g, "loss"));
    add_gradients(w, c, a, ev, share);
    eval_free(ev);
    case_free(own);
}

static Wanted *wanted_new(const Case *c, const Alone alone[2], Way way, Listed *listed) {
    Wanted *w = calloc(1, sizeof *w);
    w->gradient = calloc((size_t)c->g->nparam + 1, sizeof *w->gradient);
    for (int i = 0; i < c->g->nparam; i++)
        w->gradient[i] = calloc((size_t)shape_count(&c->g->param[i].node->shape), sizeof(double));
    for (int s = 0; s < SEQUENCES; s++)
        for (int a = 0; a < 2; a++)
            add_alone(w, c, &alone[a], way, s, listed);
    return w;
}

static void wanted_free(Wanted *w, const Case *c) {
    for (int i = 0; i < c->g->nparam; i++)
        free(w->gradient[i]);
    free(w->gradient);
    free(w);
}

/* == The interpreter ====================================================== */

static void expect_route(const char *spec, const Case *c, const Graph *g, const Wanted *w) {
    EvalInput in = case_input(c);
    Eval *ev = eval_new(g, &in);
    expect_twin(spec, "logits", eval_value(ev, graph_find(g, "logits")), w->logits[0],
                TOKENS * VOCAB, 1e-3);
    expect_twin(spec, "loss", eval_value(ev, graph_find(g, "loss")), &w->loss, 1, 1e-3);
    for (int i = 0; i < c->g->nparam; i++) {
        char name[600];
        const Node *p = c->g->param[i].node;
        snprintf(name, sizeof name, "grad.%s", p->attr->name);
        const Node *n = graph_find(g, name);
        if (n)
            expect_twin(spec, name, eval_value(ev, n), w->gradient[i], shape_count(&n->shape),
                        1e-3);
    }
    eval_free(ev);
}

static Case *routed_case(Graph *g, uint64_t seed, Listed *listed) {
    Case *c = compiled_case(g, seed, SEQUENCES, TIME, VOCAB);
    choose(c, "list.likes", listed);
    choose(c, "list.others", most);
    return c;
}

/* The sublayers do something: tokens of a list have other logits than those of none. */
static void expect_work(const char *spec, Graph *g) {
    const double *logits[2];
    Eval *ev[2];
    Case *c[2];
    double apart = 0;
    for (int i = 0; i < 2; i++) {
        c[i] = routed_case(g, 1, i ? all : none);
        EvalInput in = case_input(c[i]);
        ev[i] = eval_new(g, &in);
        logits[i] = eval_value(ev[i], graph_find(g, "logits"));
    }
    for (int t = 0; t < TOKENS; t++) {
        bool works = most(c[0]->tokens[t]);
        double row = 0;
        for (int v = t * VOCAB; v < (t + 1) * VOCAB; v++)
            row = fmax(row, fabs(logits[0][v] - logits[1][v]));
        apart += works && row > 1e-3;
    }
    if (apart < TOKENS / 3) fail_msg("%s\nonly %g tokens differ", spec, apart);
    for (int i = 0; i < 2; i++)
        eval_free(ev[i]), case_free(c[i]);
}

static void a_list_is_a_sequence_of_its_own(void **state) {
    static Listed *const lists[] = { some, none, all };
    for (int i = 0; i < ROUTED_KINDS; i++)
        for (Way way = routed_kinds[i].layer ? AS_ROWS : TO_SUBLAYER; way < WAYS; way++) {
            char text[3000], plain[3000];
            write_spec(&routed_kinds[i], way, "", text, sizeof text);
            Model *m = scratch_model(state, "%s", text), *of[2];
            Alone alone[2];
            for (int a = 0; a < 2; a++) {
                write_spec(&routed_kinds[i], WAYS, a ? "multiplier = 0" : "", plain, sizeof plain);
                of[a] = scratch_model(state, "%s", plain);
                alone[a] = (Alone){ with_gradients(of[a]->graph), !a };
            }
            Graph *g = with_gradients(m->graph);
            expect_work(text, m->graph);
            for (int l = 0; l < 3; l++) {
                Case *c = routed_case(m->graph, (uint64_t)(i + 1), lists[l]);
                Wanted *w = wanted_new(c, alone, way, lists[l]);
                expect_route(text, c, g, w);
                wanted_free(w, c);
                case_free(c);
            }
            graph_free(g);
            for (int a = 0; a < 2; a++)
                graph_free(alone[a].g), spec_free(of[a]);
            spec_free(m);
        }
}

/* == Compiled models ====================================================== */

static void build(void **state, Built *b, int kind, Way way, bool check) {
    char text[3000], path[SCRATCH_PATH];
    write_spec(&routed_kinds[kind], way, "", text, sizeof text);
    built_open(b, scratch_path(state, "list.lua", path), text,
               &(CodegenOptions){ .cpu = "native", .passes.check = check });
}

static void expect_interpreted(const Built *b, uint64_t seed, Listed *listed, const char *kind) {
    char why[600];
    Instance r;
    Expected e;
    Case *c = routed_case(b->m->graph, seed, listed);
    expected_open(&e, c, op_info);
    instance_open(&r, &b->c, TOKENS, 1 + (int)seed % 2);
    instance_weights(&r, c);
    if (!compiled_agrees(&r, c, &e, why, sizeof why)) fail_msg("%s: %s", kind, why);
    instance_close(&r);
    expected_close(&e);
    case_free(c);
}

static void expect_steps(const Built *b, uint64_t seed, Listed *listed, const char *kind) {
    static const int prompt[SEQUENCES] = { 1, 6 };
    Instance r;
    Case *c = routed_case(b->m->graph, seed, listed);
    instance_open(&r, &b->c, TOKENS, 1);
    instance_weights(&r, c);
    instance_set_up(&r, (strata_setup){ .flags = STRATA_AS_GENERATED });
    float *whole = logits_of(&r, c->tokens, SEQUENCES, TIME),
          *steps = decoded_logits(&r, c->tokens, SEQUENCES, TIME, prompt);
    for (int s = 0; s < SEQUENCES; s++) {
        int from = s * TIME + prompt[s] - 1;
        double apart = difference(steps + from * VOCAB, whole + from * VOCAB,
                                  (TIME - prompt[s] + 1) * VOCAB);
        if (!(apart <= 3e-5)) fail_msg("%s: sequence %d differs by %g", kind, s, apart);
    }
    free(whole), free(steps);
    instance_close(&r);
    case_free(c);
}

static void compiled_models_agree(void **state) {
    static Listed *const lists[] = { some, none, all };
    for (int i = 0; i < ROUTED_KINDS; i++) {
        const Way ways[] = { routed_kinds[i].layer ? TO_LAYER : TO_SUBLAYER,
                             i % 4 ? WITHIN : AS_ROWS };
        for (int w = 0; w < 1 + !(i % 2); w++) {
            Built b;
            build(state, &b, i, ways[w], (i + w) % 2);
            for (int l = 0; l < (w ? 1 : 3); l++) {
                expect_interpreted(&b, (uint64_t)(7 * i + l), lists[l], routed_kinds[i].sublayers);
                expect_steps(&b, (uint64_t)(7 * i + l), lists[l], routed_kinds[i].sublayers);
            }
            built_close(&b);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_a_sequence_of_its_own),
        cmocka_unit_test(compiled_models_agree),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
