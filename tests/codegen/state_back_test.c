/* SPDX-License-Identifier: MIT
** States that go back: after state_truncate a sequence goes on with the same bits as one that never
** was longer, or the call is refused, says why and leaves the state as it was. And messages: they
** are those of the last call, of every call that fails.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_spec.h"
#include "scratch.h"

enum { CONTEXT = 24, VOCAB = 13, SPEC = 2000, ALL = 1000000, WINDOW = 3, RING = 8, CHUNK = 4 };

typedef enum KeptPast { KEPT_ALL, KEPT_WINDOW, KEPT_CHUNKS, KEPT_NOTHING, KEPT_ROUTE } KeptPast;

typedef struct Kind {
    const char *layer, *residual;
    int32_t routed; /* of strata_setup */
    KeptPast kept;
    const char *why;
} Kind;

#define AVERAGES "drr { heads = 4, causal = true, chunk = 4, window = 1, block_layers = 1 }"
#define PLAIN "attention { heads = 4, rope = { theta = 100 } }, mlp { hidden = 24 }"
#define NEAR "attention { heads = 4, window = 3 }, mlp { hidden = 24 }"

static const Kind kinds[] = {
    { PLAIN, "haares { blocks = 2 }", 0, KEPT_ALL, "" },
    { NEAR, "standard {}", 0, KEPT_WINDOW, "a window keeps" },
    { PLAIN, AVERAGES, 0, KEPT_CHUNKS, "averages are kept" },
    { "past { name = 'past' }, " PLAIN, "standard {}", 0, KEPT_NOTHING, "operations over time" },
    { PLAIN ", route = dtr {}", "standard {}", 1 + ALL / 2, KEPT_ROUTE, "a route took some" },
    { PLAIN ", route = dtr {}", "standard {}", 1 + ALL, KEPT_ALL, "" },
    { NEAR ", route = dtr {}", "standard {}", 1 + ALL, KEPT_WINDOW, "a window keeps" },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct Bench {
    Built b;
    Instance r;
    int32_t *ids;
} Bench;

static void open_bench(void **state, Bench *x, const Kind *k) {
    char text[SPEC], path[SCRATCH_PATH];
    snprintf(text, sizeof text,
             "local past = sublayer { forward = function(m, site, x)\n"
             "  return shift(m:linear(site, 'a', x, m.dim), 1)\n"
             "end }\n"
             "return model { name = 'm', vocab = %d, context = %d, dim = 16, norm = rmsnorm {}, "
             "residual = %s,\n"
             "  layers = { layer { %s }, layer { %s } } }\n",
             VOCAB, CONTEXT, k->residual, k->layer, k->layer);
    built_open(&x->b, scratch_path(state, "back.lua", path), text,
               &(CodegenOptions){ .cpu = "native", .level = 1, .passes.inference = true });
    instance_open(&x->r, &x->b.c, CONTEXT, 1);
    instance_fill(&x->r, 5);
    instance_set_up(&x->r, (strata_setup){ .routed = k->routed });
    x->ids = some_ids(&x->b.c, 9, CONTEXT);
}

static void close_bench(Bench *x) {
    free(x->ids);
    instance_close(&x->r);
    built_close(&x->b);
}

static Guarded state_of(const Bench *x) { return instance_state(&x->r, CONTEXT); }

/* Tokens [first, end) one by one; the last one's logits. */
static void extend(const Bench *x, void *state, int first, int end, float *logits) {
    for (int t = first; t < end; t++)
        assert_int_equal(x->b.c.api.decode(x->r.ctx.at, x->r.weights.at, &state, 1, x->r.arena.at,
                                           x->ids + t, logits),
                         STRATA_OK);
}

static bool can(KeptPast kept, int from, int to) {
    if (to == 0 || to == from || kept == KEPT_ALL) return true;
    return (kept == KEPT_WINDOW && (from <= RING || from - to <= STRATA_BACK))
        || (kept == KEPT_CHUNKS && to % CHUNK == 0);
}

/* == Going back =========================================================== */

static void check_refused(const Bench *x, const Kind *k, Guarded *state, int from, int to) {
    const strata_api *a = &x->b.c.api;
    Guarded before = state_of(x);
    memcpy(before.at, state->at, state->size);
    assert_int_equal(a->state_truncate(x->r.ctx.at, state->at, to), STRATA_ERROR_PAST);
    char end[64];
    snprintf(end, sizeof end, "go back from %d tokens to %d", from, to);
    const char *why = a->message(x->r.ctx.at);
    if (!strstr(why, k->why) || !strstr(why, end))
        fail_msg("%s, %d to %d: %s", k->layer, from, to, why);
    assert_memory_equal(state->at, before.at, state->size);
    guarded_close(&before);
}

/* A sequence of 'from' tokens goes back to 'to', and on by a few. */
static void check_back(const Bench *x, const Kind *k, int from, int to) {
    const strata_api *a = &x->b.c.api;
    enum { MORE = 3 };
    int end = to + MORE < CONTEXT ? to + MORE : CONTEXT;
    float want[VOCAB] = { 0 }, found[VOCAB] = { 0 };
    Guarded one = state_of(x), other = state_of(x);
    extend(x, one.at, 0, from, found);
    assert_int_equal(a->state_length(one.at), from);
    if (!can(k->kept, from, to)) check_refused(x, k, &one, from, to);
    else {
        int status = a->state_truncate(x->r.ctx.at, one.at, to);
        if (status) fail_msg("%s, %d to %d: %s", k->layer, from, to, a->message(x->r.ctx.at));
        assert_int_equal(a->state_length(one.at), to);
        extend(x, one.at, to, end, found);
        extend(x, other.at, 0, end, want);
        if (memcmp(found, want, sizeof want) && to < end)
            fail_msg("%s: other bits after %d to %d", k->layer, from, to);
    }
    guarded_close(&one), guarded_close(&other);
}

static void sequences_go_back(void **state) {
    for (int i = 0; i < KINDS; i++) {
        Bench x;
        open_bench(state, &x, &kinds[i]);
        for (int from = 1; from < CONTEXT; from += 3)
            for (int to = 0; to <= from; to++)
                check_back(&x, &kinds[i], from, to);
        close_bench(&x);
    }
}

/* == Messages ============================================================= */

enum { CALLS = 9 };

/* A call of each kind that fails. */
static int32_t wrong(const Bench *x, void *state, int which) {
    const strata_api *a = &x->b.c.api;
    void *c = x->r.ctx.at, *w = x->r.weights.at, *arena = x->r.arena.at;
    float out[VOCAB];
    double sum;
    void *twice[2] = { state, state };
    strata_setup other = { .struct_size = 1 };
    strata_setup longer = { .struct_size = sizeof longer, .workers = 1, .length = 10 * CONTEXT };
    switch (which) {
    case 0:
        return a->forward_backward(c, w, w, arena, x->ids, x->ids, 1, 1, 1, 0, NULL, NULL, NULL);
    case 1: return a->sum_squares(c, w, 0, 1, &sum);
    case 2: return a->update(c, w, w, 0, 1, NULL);
    case 3: return a->decode(c, w, twice, 2, arena, x->ids, out);
    case 4: return a->prefill(c, w, state, arena, x->ids, CONTEXT + 1, out);
    case 5: return a->state_truncate(c, state, 1);
    case 6: return a->state_init(c, state, 0);
    case 7: return a->init(c, x->r.ctx.size, &longer);
    default: return a->init(c, x->r.ctx.size, &other);
    }
}

/* After each call that succeeds there is none, and no call leaves that of another. */
static void messages_are_of_the_last_call(void **state) {
    Bench x;
    open_bench(state, &x, &kinds[0]);
    const strata_api *a = &x.b.c.api;
    Guarded s = state_of(&x);
    char before[256];
    for (int first = 0; first < CALLS; first++)
        for (int then = 0; then < CALLS; then++) {
            instance_set_up(&x.r, (strata_setup){ 0 });
            assert_int_equal(a->state_init(x.r.ctx.at, s.at, CONTEXT), STRATA_OK);
            assert_string_equal(a->message(x.r.ctx.at), "");
            assert_int_not_equal(wrong(&x, s.at, first), STRATA_OK);
            snprintf(before, sizeof before, "%s", a->message(x.r.ctx.at));
            if (!before[0]) fail_msg("call %d: no message", first);
            if (first >= 7) continue; /* a control block that init refused takes no call */
            assert_int_not_equal(wrong(&x, s.at, then), STRATA_OK);
            bool same = !strcmp(before, a->message(x.r.ctx.at));
            bool alike = first == then || (first < 3 && then < 3);
            if (same != alike) fail_msg("calls %d, %d: %s", first, then, before);
        }
    assert_non_null(strstr(before, "struct_size"));
    guarded_close(&s);
    close_bench(&x);
}

static void lengths_are_of_states(void **state) {
    Bench x;
    open_bench(state, &x, &kinds[0]);
    const strata_api *a = &x.b.c.api;
    Guarded s = state_of(&x);
    assert_int_equal(a->state_length(s.at), 0);
    assert_int_equal(a->state_length(NULL), -1);
    assert_int_equal(a->state_length(x.r.ctx.at), -1);
    assert_int_equal(a->state_truncate(x.r.ctx.at, s.at, -1), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->state_truncate(x.r.ctx.at, x.r.arena.at, 0), STRATA_ERROR_STATE);
    assert_int_equal(a->state_truncate(NULL, s.at, 0), STRATA_ERROR_ARGUMENT);
    guarded_close(&s);
    close_bench(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sequences_go_back, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(messages_are_of_the_last_call, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(lengths_are_of_states, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
