/* SPDX-License-Identifier: MIT
** Routes where lists are short and scores are equal.  Tokens of two kinds are steered into the
** routed layers and past them: none of a call, all, none of one sequence beside many of another,
** sequences of one token; in training, in the full pass and token by token, with --check and
** without.  Then what decides when it is a tie.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "passes.h"
#include "scratch.h"

enum { CONTEXT = 16, DIM = 16, VOCAB = 13, SPEC = 2000, MOST = 3 * CONTEXT };
enum { IN = 0, OUT = VOCAB / 2 }; /* the first id of each kind */

/* A residual, a route, and the sign with which it asks the router for passing, not for going in. */
typedef struct Kind {
    const char *residual, *route;
    double sign;
} Kind;

static const Kind kinds[] = {
    { "standard {}", "dtr {}", 1 },
    { "haares { block_size = 4 }", "dtr { bias = false, bypass = 'none' }", 1 },
    { "standard {}", "mod { capacity = 0.3, gate = 'sigmoid' }", 1 },
    { "standard {}", "dllm { hidden = 6, reserve = 0, target = 0.4, weight = 0.3 }", -1 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* == Models =============================================================== */

/* The first two of three layers are routed. */
static void open_kind(void **state, Built *b, const Kind *k, bool check) {
    char text[SPEC], path[SCRATCH_PATH];
    snprintf(text, sizeof text,
             "local function one(r) return layer { attention { heads = 4, kv_heads = 2, rope = { "
             "theta = 100 } }, mlp { hidden = 24 }, route = r } end\n"
             "return model { name = 'm', vocab = %d, context = %d, dim = %d, norm = rmsnorm { eps "
             "= 1e-5 }, residual = %s,\n"
             "  route_penalty = 0.1, layers = { one(%s), one(%s), one() } }\n",
             VOCAB, CONTEXT, DIM, k->residual, k->route, k->route);
    built_open(b, scratch_path(state, "edges.lua", path), text,
               &(CodegenOptions){ .cpu = "native", .passes.check = check });
}

static bool ends_so(const char *name, const char *ending) {
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && !strcmp(name + n - m, ending);
}

/* Every parameter whose name ends so: 'value' at the elements first, first + stride, ..., 0 at the
** others. */
static void set(Case *c, const char *ending, double value, int64_t first, int64_t stride) {
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *p = c->g->param[i].node;
        for (int64_t k = 0; ends_so(p->attr->name, ending) && k < shape_count(&p->shape); k++)
            c->value[i][k] = k >= first && (k - first) % stride == 0 ? value : 0;
    }
}

/* Routers look at the first channel, which says of what kind a token is; nothing is added to it. */
static void steer(Case *c, double sign) {
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *p = c->g->param[i].node;
        bool adds = ends_so(p->attr->name, ".o.weight") || ends_so(p->attr->name, ".down.weight");
        for (int64_t k = 0; adds && k < p->shape.dim[1]; k++)
            c->value[i][k] = 0;
        for (int id = 0; !strcmp(p->attr->name, "embed.weight") && id < VOCAB; id++)
            c->value[i][id * DIM] = id < OUT ? 4 : -4;
    }
    set(c, ".router.hidden.weight", 1, 0, DIM);
    set(c, ".router.hidden.bias", 0, 0, 1);
    set(c, ".router.norm.weight", 1, 0, 1);
    set(c, ".router.out.weight", 0, 0, 1);
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *p = c->g->param[i].node;
        for (int64_t k = 0; ends_so(p->attr->name, ".router.out.weight") && k < p->shape.dim[1];
             k++)
            c->value[i][k] = sign;
    }
    set(c, ".router.out.bias", 0, 0, 1);
    set(c, ".router.weight", 1, 0, DIM);
    set(c, ".predictor.weight", 1, 0, DIM);
    set(c, ".predictor.bias", 0, 0, 1);
}

static Case *steered(Graph *g, double sign, int64_t batch, int64_t time) {
    Case *c = compiled_case(g, 3, batch, time, VOCAB);
    steer(c, sign);
    return c;
}

/* == Expectations ========================================================= */

/* The interpreter's lists have the tokens of 'in', and its logits are those of the compiled model,
** which has the same share of tokens in its lists, in the form that generates; token by token
** too. */
static void expect_generated(Instance *r, const Case *c, const bool *in) {
    int64_t tokens = c->batch * c->time, count = tokens * VOCAB;
    EvalInput how = case_input(c);
    how.generating = 1, how.keep = true;
    Eval *ev = eval_new(c->g, &how);
    double taken = 0, routed[2] = { -1, -1 };
    for (int64_t t = 0; t < tokens; t++)
        taken += in[t];
    for (int i = 0; i < c->g->n; i++)
        for (int64_t t = 0; c->g->node[i]->op == OP_rows && t < tokens; t++)
            assert_int_equal(eval_value(ev, c->g->node[i])[t] >= 0, in[t]);
    const double *logits = eval_value(ev, graph_find(c->g, "logits"));
    float *want = calloc((size_t)count, sizeof *want);
    for (int64_t i = 0; i < count; i++)
        want[i] = (float)logits[i];
    instance_set_up(r, (strata_setup){ .flags = STRATA_AS_GENERATED });
    strata_loss loss = { .struct_size = sizeof loss, .routed = routed };
    assert_int_equal(r->c->api.loss(r->ctx.at, r->weights.at, r->arena.at, c->tokens, c->targets,
                                    c->batch, c->time, NULL, &loss),
                     STRATA_OK);
    assert_true(fabs(routed[0] - taken / (double)tokens) < 1e-9
                && fabs(routed[1] - routed[0]) < 1e-9);
    float *whole = logits_of(r, c->tokens, c->batch, c->time);
    assert_true(difference(whole, want, count) < 3e-5);
    int prompt[3] = { 1, c->time > 4 ? 4 : 1, (int)c->time };
    float *steps = decoded_logits(r, c->tokens, (int)c->batch, c->time, prompt);
    for (int64_t b = 0; b < c->batch; b++) {
        int64_t first = b * c->time + prompt[b] - 1;
        assert_true(difference(steps + first * VOCAB, want + first * VOCAB,
                               (c->time - prompt[b] + 1) * VOCAB)
                    < 3e-5);
    }
    free(whole), free(steps), free(want);
    eval_free(ev);
    instance_set_up(r, (strata_setup){ 0 });
}

static void expect_trained(Instance *r, const Case *c, const char *route) {
    char why[600];
    Expected e;
    expected_open(&e, c, op_info);
    if (!compiled_agrees(r, c, &e, why, sizeof why)) fail_msg("%s: %s", route, why);
    expected_close(&e);
}

/* == Short lists ========================================================== */

/* A sequence: how its tokens go on, 'i' in and 'o' past, over and over. */
typedef struct Edge {
    int64_t batch, time;
    const char *kinds[3];
} Edge;

static const Edge edges[] = {
    { 2, 9, { "o", "o" } },         /* none of a call */
    { 2, 9, { "i", "i" } },         /* all */
    { 3, 11, { "i", "o", "iio" } }, /* none of a sequence beside many */
    { 3, 7, { "o", "i", "o" } },
    { 2, 8, { "ooooooooi", "oooi" } }, /* one, late, and none before */
    { 3, 1, { "o", "i", "o" } },       /* of one token each */
    { 1, 1, { "o" } },
    { 1, 1, { "i" } },
    { 1, CONTEXT, { "oi" } },
};

static void take_tokens(Case *c, const Edge *e, bool *in) {
    for (int64_t b = 0; b < e->batch; b++)
        for (int64_t t = 0; t < e->time; t++) {
            int64_t at = b * e->time + t;
            in[at] = e->kinds[b][(size_t)t % strlen(e->kinds[b])] == 'i';
            c->tokens[at] = (in[at] ? IN : OUT) + (int32_t)(t * 5 + b) % OUT;
        }
}

static void short_lists_are_right(void **state) {
    for (int i = 0; i < KINDS; i++)
        for (int check = 0; check < 2; check++) {
            Built b;
            open_kind(state, &b, &kinds[i], check);
            for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
                bool in[MOST];
                Instance r;
                Case *c = steered(b.m->graph, kinds[i].sign, edges[k].batch, edges[k].time);
                take_tokens(c, &edges[k], in);
                instance_open(&r, &b.c, c->batch * c->time, 1 + (int)k % 3);
                instance_weights(&r, c);
                expect_trained(&r, c, kinds[i].route);
                expect_generated(&r, c, in);
                instance_close(&r);
                case_free(c);
            }
            built_close(&b);
        }
}

/* == Ties ================================================================= */

/* At a tie all tokens go one way; when a bias is a little above, the other. */
typedef struct Tie {
    int kind;
    const char *bias;
    bool goes_in;
} Tie;

static const Tie ties[] = {
    { 0, ".router.out.bias", false }, /* dtr: p_a = p_b is a bypass */
    { 2, ".predictor.bias", false },  /* mod: a predictor's 0 is not above 0 */
    { 3, ".router.out.bias", true },  /* dllm: 1/2 executes */
};

static void a_tie_is_decided(void **state) {
    for (int i = 0; i < 3; i++) {
        const Tie *tie = &ties[i];
        Built b;
        Instance r;
        bool in[MOST];
        float *logits[2];
        open_kind(state, &b, &kinds[tie->kind], true);
        Case *c = steered(b.m->graph, 1, 3, 9);
        instance_open(&r, &b.c, c->batch * c->time, 2);
        set(c, ".router.out.weight", 0, 0, 1);
        set(c, ".predictor.weight", 0, 0, 1);
        for (int nudged = 0; nudged < 2; nudged++) {
            set(c, tie->bias, nudged ? 1e-3 : 0, 0, 1 << 20); /* of two: the first */
            for (int t = 0; t < MOST; t++)
                in[t] = tie->goes_in != nudged;
            instance_weights(&r, c);
            expect_generated(&r, c, in);
            if (strstr(tie->bias, "router")) expect_trained(&r, c, kinds[tie->kind].route);
            instance_set_up(&r, (strata_setup){ .flags = STRATA_AS_GENERATED });
            logits[nudged] = logits_of(&r, c->tokens, c->batch, c->time);
        }
        /* it matters */
        assert_true(difference(logits[0], logits[1], c->batch * c->time * VOCAB) > 1e-2);
        free(logits[0]), free(logits[1]);
        instance_close(&r);
        case_free(c);
        built_close(&b);
    }
}

/* The k largest of a sequence, picked one after another, the earlier of equal ones. */
static void pick(const double *score, int64_t time, int k, bool *in) {
    memset(in, 0, (size_t)time * sizeof *in);
    for (int n = 0; n < k; n++) {
        int64_t best = -1;
        for (int64_t t = 0; t < time; t++)
            if (!in[t] && (best < 0 || score[t] > score[best])) best = t;
        in[best] = true;
    }
}

enum { LONG = 10, TAKEN = 3 }; /* tokens of each sequence, and how many of them the layer takes */

/* The first layer of the case takes what 'pick' does; 'scores' are by id. */
static void expect_chosen(const Case *c, const double *scores) {
    EvalInput in = case_input(c);
    in.keep = true;
    Eval *ev = eval_new(c->g, &in);
    const double *chosen = NULL;
    for (int i = c->g->n; i-- > 0;)
        if (c->g->node[i]->op == OP_top) chosen = eval_value(ev, c->g->node[i]);
    for (int64_t s = 0; s < c->batch; s++) {
        double score[LONG];
        bool want[LONG];
        for (int t = 0; t < LONG; t++)
            score[t] = scores[c->tokens[s * LONG + t]];
        pick(score, LONG, TAKEN, want);
        for (int t = 0; t < LONG; t++)
            assert_int_equal(chosen[s * LONG + t] > 0, want[t]);
    }
    eval_free(ev);
}

/* mod's first layer scores tokens by their ids alone. */
static void the_earlier_of_equal_scores_wins(void **state) {
    static const int32_t ids[3][LONG] = { { 3, 1, 3, 2, 3, 3, 1, 2, 1, 3 },
                                          { 4, 4, 4, 4, 4, 4, 4, 4, 4, 4 },
                                          { 2, 2, 7, 7, 2, 7, 1, 1, 1, 1 } };
    /* by id: 0 and -0 are equal */
    static const double scores[VOCAB] = { 0, 0.5, -0.5, 0.25, 7, 0, 0, -0.0 }, none[VOCAB] = { 0 };
    Built b;
    Instance r;
    open_kind(state, &b, &kinds[2], true);
    for (int equal = 0; equal < 2; equal++) {
        Case *c = steered(b.m->graph, 1, 3, LONG);
        memcpy(c->tokens, ids, sizeof ids);
        for (int i = 0; i < c->g->nparam; i++)
            for (int id = 0; !strcmp(c->g->param[i].node->attr->name, "embed.weight") && id < VOCAB;
                 id++)
                c->value[i][id * DIM] = (equal ? none : scores)[id];
        expect_chosen(c, equal ? none : scores);
        instance_open(&r, &b.c, 30, 2);
        instance_weights(&r, c);
        expect_trained(&r, c, kinds[2].route);
        instance_close(&r);
        case_free(c);
    }
    built_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_lists_are_right),
        cmocka_unit_test(a_tie_is_decided),
        cmocka_unit_test(the_earlier_of_equal_scores_wins),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
