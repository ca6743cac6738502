/* SPDX-License-Identifier: MIT
** The pipeline: the graph is verified after every pass that changes it, each is seen in the order
** of passes.def, and programs without an optional pass compute the numbers of programs with all.
*/
#include "test.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_spec.h"
#include "kept_rows.h"
#include "pipeline.h"

enum { BATCH = 2, TIME = 7 };

/* == Between the pipeline and what it calls =============================== */

static int verified;
static bool wrong;

void __real_graph_verify(const Graph *g);
void __wrap_graph_verify(const Graph *g);
void __wrap_graph_verify(const Graph *g) {
    verified++;
    __real_graph_verify(g);
}

/* A pass that breaks numbers, but no rule of graphs: logits a thousandth too large. */
Graph *__real_pass_simplify(Graph *g);
Graph *__wrap_pass_simplify(Graph *g);
Graph *__wrap_pass_simplify(Graph *g) {
    g = __real_pass_simplify(g);
    Node *logits = wrong ? graph_find(g, "logits") : NULL;
    if (logits) graph_output(g, "logits", op_scale(logits, 1.001));
    return g;
}

/* == Order ================================================================ */

typedef struct Seen {
    int verified, last[PROGRAMS + 1], ran[PASSES], off[PASSES];
    const Graph *graph[PROGRAMS + 1]; /* after the last pass */
} Seen;

static void see(void *user, const PassEvent *e) {
    Seen *s = user;
    const Graph **last = &s->graph[e->program];
    if (*last) assert_int_equal(e->changed, e->g != *last || e->g->n != e->before);
    *last = e->g;
    s->verified += e->changed;
    if (verified != s->verified)
        fail_msg("%s of %s: expected %d verifications, found %d", pass_info[e->pass].name,
                 plan_name(e->program), s->verified, verified);
    assert_true((int)e->pass > s->last[e->program]);
    s->last[e->program] = (int)e->pass;
    (e->off ? s->off : s->ran)[e->pass]++;
    assert_true(e->before > 0 && e->g->n > 0);
}

static Seen seen_of(const Model *m, PassOptions o) {
    Seen s = { .verified = 0 };
    PassObserver observer = { see, &s };
    for (int i = 0; i <= PROGRAMS; i++)
        s.last[i] = -1;
    verified = 0;
    o.observer = &observer;
    ModelPlans plans = plans_make(m->graph, NULL, NULL, &o);
    for (int i = 0; i < PROGRAMS; i++)
        if (plans.plan[i]) graph_free(plans.plan[i]->g);
    assert_int_equal(verified, s.verified);
    return s;
}

static void every_change_is_verified_and_every_pass_seen(void **state) {
    (void)state;
    Error error;
    Model *m = spec_load(SOURCE_DIR "/tests/specs/attnres-full.lua", NULL, &error);
    if (!m) fail_msg("%s", error.text);
    PassOptions every = { .bf16 = true, .small = SMALL_Q8, .cache = KEPT_Q8 };
    Seen all = seen_of(m, every);
    for (int i = 0; i < PASSES; i++) {
        PassWhen when = pass_info[i].when;
        bool reading = when == PASS_CACHE || when == PASS_READING;
        int programs = when == PASS_MODEL || when == PASS_TRAINING ? 1 : reading ? 2 : 3;
        if (all.ran[i] != programs || all.off[i])
            fail_msg("%s: %d times, %d off", pass_info[i].name, all.ran[i], all.off[i]);
    }
    for (int i = 0; i < PASSES; i++) {
        every.off = 1u << i;
        Seen less = seen_of(m, every);
        bool off = pass_info[i].optional;
        assert_int_equal(less.off[i], off ? all.ran[i] : 0);
        assert_int_equal(less.ran[i], off ? 0 : all.ran[i]);
    }
    spec_free(m);
}

static void names_and_letters_are_passes(void **state) {
    (void)state;
    for (int i = 0; i < PASSES; i++) {
        assert_int_equal(pass_called(pass_info[i].name, strlen(pass_info[i].name)), i);
        assert_int_equal(pass_called(&pass_info[i].letter, 1), i);
    }
    assert_int_equal(pass_called("simplifyx", 9), PASSES);
    assert_int_equal(pass_called("simpl", 5), PASSES);
    assert_int_equal(pass_called("", 0), PASSES);
}

/* == Numbers ============================================================== */

/* Of one build: logits, and gradients of all parameters in the spec's order. */
typedef struct Numbers {
    float *logits, *gradient;
    int64_t nlogits, ngradient;
} Numbers;

static Numbers numbers_of(const char *path, unsigned off) {
    Built b;
    Instance r;
    Numbers n = { .ngradient = 0 };
    strata_loss loss;
    built_open(
        &b, path, NULL,
        &(CodegenOptions){ .cpu = "native", .passes.two_phase = TWO_PHASE_ON, .passes.off = off });
    instance_open(&r, &b.c, BATCH * TIME, 1);
    instance_fill(&r, 3);
    int32_t *tokens = some_ids(&b.c, 1, BATCH * TIME), *targets = some_ids(&b.c, 2, BATCH * TIME);
    n.nlogits = BATCH * TIME * b.c.model->vocab;
    n.logits = logits_of(&r, tokens, BATCH, TIME);
    free(gradients_of(&r, tokens, targets, BATCH, TIME, &loss));
    n.gradient = calloc((size_t)gradient_floats(&b.c) + 1, sizeof *n.gradient);
    assert_non_null(n.gradient);
    for (int i = 0; i < b.m->graph->nparam; i++) {
        const Node *p = b.m->graph->param[i].node;
        size_t count = (size_t)shape_count(&p->shape);
        memcpy(n.gradient + n.ngradient, instance_gradient(&r, p->attr->name),
               count * sizeof *n.gradient);
        n.ngradient += (int64_t)count;
    }
    free(tokens), free(targets);
    instance_close(&r);
    built_close(&b);
    return n;
}

static void numbers_free(Numbers *n) { free(n->logits), free(n->gradient); }

/* To what float32 sums in another order differ by. */
static bool same_numbers(const Numbers *a, const Numbers *b) {
    return a->nlogits == b->nlogits && a->ngradient == b->ngradient
        && difference(a->logits, b->logits, a->nlogits) < 3e-5
        && difference(a->gradient, b->gradient, a->ngradient) < 1e-4;
}

static void compare_spec(const char *path) {
    Numbers all = numbers_of(path, 0);
    for (int i = 0; i < PASSES; i++) {
        if (!pass_info[i].optional) continue;
        Numbers less = numbers_of(path, 1u << i);
        if (!same_numbers(&less, &all))
            fail_msg("%s without %s: logits differ by %.1e, gradients by %.1e", path,
                     pass_info[i].name, difference(less.logits, all.logits, all.nlogits),
                     difference(less.gradient, all.gradient, all.ngradient));
        numbers_free(&less);
    }
    numbers_free(&all);
}

static void numbers_are_the_same_without_a_pass(void **state) {
    (void)state;
    glob_t found;
    int compared = 0, every = compiled_every();
    assert_int_equal(glob(SOURCE_DIR "/tests/specs/*.lua", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (strstr(found.gl_pathv[i], "/small.lua") || i % (size_t)every) continue; /* a part */
        compare_spec(found.gl_pathv[i]);
        compared++;
    }
    assert_true(compared > 0);
    globfree(&found);
}

static void a_wrong_pass_shows(void **state) {
    (void)state;
    static const char path[] = SOURCE_DIR "/tests/specs/standard.lua";
    wrong = true;
    Numbers on = numbers_of(path, 0), off = numbers_of(path, 1u << PASS_simplify);
    wrong = false;
    assert_false(same_numbers(&off, &on));
    numbers_free(&on), numbers_free(&off);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_is_verified_and_every_pass_seen),
        cmocka_unit_test(names_and_letters_are_passes),
        cmocka_unit_test(numbers_are_the_same_without_a_pass),
        cmocka_unit_test(a_wrong_pass_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
