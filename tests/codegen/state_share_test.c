/* SPDX-License-Identifier: MIT
** States with room for a share of what routes may take: the same bits as states with room for all
** until there is no room, then an error that says where, and states as they were, whatever caches
** the call had written to before; alone, in a prompt, one of a batch. Every second token is
** routed.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiled_spec.h"
#include "scratch.h"

enum { CONTEXT = 24, VOCAB = 13, SPEC = 2000, ALL = 1000000 };
enum { SOME = 160000, ROWS = 4, MOST = 2 * ROWS + 1 }; /* 0.16 of 24, rounded up; tokens that fit */

typedef struct Kind {
    const char *residual, *attention, *route, *site, *first;
} Kind;

/* The third's averages over 4 tokens, one of them unfinished when there is no room, are caches that
** a call adds to before it finds no room; the last's layers begin with sublayers that carry a past,
** two of them routed. */
#define PAST "past { name = 'past' }, "
/* Rings, rows of which a call replaces before it finds no room: of all tokens, of routed ones. */
#define NEAR "attention { name = 'near', heads = 2, window = 3 }, "
#define NEAR_LATENT                                                                           \
    "mla { name = 'near', heads = 2, nope_dim = 3, rope_dim = 2, value_dim = 4, latent = 5, " \
    "window = 2 }, "

static const Kind kinds[] = {
    { "standard {}", "kv_heads = 2, rope = { theta = 100 }", "dtr {}", "layers.3.attention", "" },
    { "haares { block_size = 4 }", "", "dtr { bypass = 'none' }", "layers.3.attention", "" },
    { "drr { heads = 4, causal = true, chunk = 4, window = 1, block_layers = 1 }",
      "rope = { theta = 100 }", "dtr {}", "layers.3.attention", "" },
    { "standard {}", "rope = { theta = 100 }", "mod { capacity = 0.4 }", "layers.3", "" },
    { "standard {}", "kv_heads = 1", "dllm { hidden = 6, reserve = 0 }", "layers.3", "" },
    { "standard {}", "kv_heads = 2", "dtr {}", "layers.3.attention", PAST },
    { "standard {}", "", "mod { capacity = 0.4 }", "layers.3", PAST },
    { "standard {}", "kv_heads = 1", "mod { capacity = 0.4 }", "layers.3", NEAR },
    { "standard {}", "kv_heads = 2", "dtr {}", "layers.3.attention", NEAR_LATENT },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* == Models and states ==================================================== */

typedef struct Bench {
    const Kind *kind;
    Built b;
    Instance r;
    int32_t *ids;
} Bench;

static void open_bench(void **state, Bench *x, const Kind *k, bool check) {
    char text[SPEC], path[SCRATCH_PATH];
    snprintf(
        text, sizeof text,
        "local past = sublayer { forward = function(m, site, x)\n"
        "  return shift(m:linear(site, 'a', x, m.dim), 3) + shift(x, 1)\n"
        "end }\n"
        "local function one(r) return layer { %sattention { heads = 4, %s }, mlp { hidden = 24 "
        "}, route = r } end\n"
        "return model { name = 'm', vocab = %d, context = %d, dim = 16, norm = rmsnorm {}, "
        "residual = %s,\n"
        "  layers = { one(), one(), one(), one(%s), one(%s), one() } }\n",
        k->first, k->attention, VOCAB, CONTEXT, k->residual, k->route, k->route);
    x->kind = k;
    built_open(
        &x->b, scratch_path(state, "share.lua", path), text,
        &(CodegenOptions){ .cpu = "native", .passes.check = check, .passes.inference = true });
    instance_open(&x->r, &x->b.c, CONTEXT, 1);
    instance_fill(&x->r, 11);
    instance_set_up(&x->r, (strata_setup){ .routed = 1 + ALL / 2 });
    x->ids = some_ids(&x->b.c, 5, 3 * CONTEXT);
}

static void close_bench(Bench *x) {
    free(x->ids);
    instance_close(&x->r);
    built_close(&x->b);
}

/* A state exactly as large as it says. */
static Guarded state_of(const Bench *x, int32_t share) {
    Guarded g;
    guarded_open(&g, x->b.c.api.state_bytes_share(CONTEXT, share));
    assert_int_equal(x->b.c.api.state_init_share(x->r.ctx.at, g.at, CONTEXT, share), STRATA_OK);
    return g;
}

static int prefill(const Bench *x, void *state, int first, int n, float *logits) {
    return x->b.c.api.prefill(x->r.ctx.at, x->r.weights.at, state, x->r.arena.at, x->ids + first, n,
                              logits);
}

static int decode(const Bench *x, void *const *states, int n, const int32_t *next, float *logits) {
    return x->b.c.api.decode(x->r.ctx.at, x->r.weights.at, states, n, x->r.arena.at, next, logits);
}

static void refused(const Bench *x, int status, int sequence, int rows) {
    char why[200];
    snprintf(
        why, sizeof why,
        "sequence %d: %s would have taken %d tokens, its state has room for %d (a context of %d)",
        sequence, x->kind->site, rows, ROWS, CONTEXT);
    assert_int_equal(status, STRATA_ERROR_FULL);
    assert_string_equal(x->b.c.api.message(x->r.ctx.at), why);
}

/* What counts of a state, in memory that was zero before: equal if and only if the sequences
** are. */
static Guarded content(const Bench *x, const void *state) {
    Guarded g = instance_state(&x->r, CONTEXT);
    assert_int_equal(x->b.c.api.state_copy(x->r.ctx.at, g.at, state), STRATA_OK);
    return g;
}

static void expect_content(const Bench *x, const void *state, const Guarded *want) {
    Guarded now = content(x, state);
    assert_memory_equal(now.at, want->at, want->size);
    guarded_close(&now);
}

/* == Until there is no room =============================================== */

/* Tokens one by one into a small state and a large one, until the small one is full; then its
** sequence goes on in a larger one. */
static void fill_up(const Bench *x, int prompt) {
    float a[VOCAB], b[VOCAB];
    Guarded small = state_of(x, SOME), large = state_of(x, ALL);
    assert_int_equal(prefill(x, small.at, 0, prompt, a), STRATA_OK);
    assert_int_equal(prefill(x, large.at, 0, prompt, b), STRATA_OK);
    assert_memory_equal(a, b, sizeof a);
    for (int t = prompt; t < MOST; t++) {
        assert_int_equal(decode(x, &small.at, 1, x->ids + t, a), STRATA_OK);
        assert_int_equal(decode(x, &large.at, 1, x->ids + t, b), STRATA_OK);
        assert_memory_equal(a, b, sizeof a);
    }
    Guarded before = content(x, small.at);
    expect_content(x, large.at, &before);
    for (int again = 0; again < 2; again++) {
        refused(x, decode(x, &small.at, 1, x->ids + MOST, a), 0, ROWS + 1);
        refused(x, prefill(x, small.at, MOST, 7, a), 0, ROWS + 4);
        expect_content(x, small.at, &before);
    }
    for (int t = MOST; t < CONTEXT; t++) {
        assert_int_equal(decode(x, &before.at, 1, x->ids + t, a), STRATA_OK);
        assert_int_equal(decode(x, &large.at, 1, x->ids + t, b), STRATA_OK);
        assert_memory_equal(a, b, sizeof a);
    }
    guarded_close(&small), guarded_close(&large), guarded_close(&before);
}

static void a_full_state_is_as_it_was(void **state) {
    for (int i = 0; i < KINDS; i++)
        for (int check = 0; check < 2; check++) {
            Bench x;
            open_bench(state, &x, &kinds[i], check);
            fill_up(&x, 1);
            fill_up(&x, 5);
            fill_up(&x, MOST);
            close_bench(&x);
        }
}

static void a_prompt_that_does_not_fit_leaves_nothing(void **state) {
    for (int i = 0; i < KINDS; i++) {
        Bench x;
        open_bench(state, &x, &kinds[i], false);
        Guarded small = state_of(&x, SOME), empty = content(&x, small.at);
        refused(&x, prefill(&x, small.at, 0, CONTEXT, NULL), 0, CONTEXT / 2);
        expect_content(&x, small.at, &empty);
        guarded_close(&small), guarded_close(&empty);
        close_bench(&x);
    }
}

/* Of three sequences the second is full: none moves; then the others go on without it. */
static void one_of_a_batch_is_full(void **state) {
    static const int length[3] = { 2, MOST, 4 };
    for (int i = 0; i < KINDS; i++) {
        Bench x;
        float rows[3 * VOCAB], alone[VOCAB];
        Guarded small[3], large[3], before[3];
        open_bench(state, &x, &kinds[i], i % 2);
        for (int s = 0; s < 3; s++) {
            small[s] = state_of(&x, SOME), large[s] = state_of(&x, ALL);
            assert_int_equal(prefill(&x, small[s].at, s * CONTEXT, length[s], NULL), STRATA_OK);
            assert_int_equal(prefill(&x, large[s].at, s * CONTEXT, length[s], NULL), STRATA_OK);
            before[s] = content(&x, small[s].at);
        }
        int32_t next[3] = { x.ids[2], x.ids[CONTEXT + MOST], x.ids[2 * CONTEXT + 4] };
        refused(&x, decode(&x, (void *[]){ small[0].at, small[1].at, small[2].at }, 3, next, rows),
                1, ROWS + 1);
        for (int s = 0; s < 3; s++)
            expect_content(&x, small[s].at, &before[s]);
        assert_int_equal(decode(&x, (void *[]){ small[0].at, small[2].at }, 2,
                                (int32_t[]){ next[0], next[2] }, rows),
                         STRATA_OK);
        for (int s = 0; s < 3; s += 2) {
            assert_int_equal(decode(&x, &large[s].at, 1, &next[s], alone), STRATA_OK);
            assert_memory_equal(rows + s / 2 * VOCAB, alone, sizeof alone);
        }
        for (int s = 0; s < 3; s++)
            guarded_close(&small[s]), guarded_close(&large[s]), guarded_close(&before[s]);
        close_bench(&x);
    }
}

/* A sequence goes on where the context is longer, in the middle of an average too. */
static void a_sequence_moves_to_a_longer_context(void **state) {
    enum { SHORT = 8 };
    for (int i = 0; i < KINDS; i++) {
        Bench x;
        float a[VOCAB], b[VOCAB];
        Guarded first;
        open_bench(state, &x, &kinds[i], false);
        const strata_api *api = &x.b.c.api;
        guarded_open(&first, api->state_bytes(SHORT));
        assert_int_equal(api->state_init(x.r.ctx.at, first.at, SHORT), STRATA_OK);
        assert_int_equal(prefill(&x, first.at, 0, SHORT, a), STRATA_OK);
        assert_int_equal(decode(&x, &first.at, 1, x.ids + SHORT, a), STRATA_ERROR_FULL);
        Guarded small = state_of(&x, SOME), large = state_of(&x, ALL);
        assert_int_equal(api->state_copy(x.r.ctx.at, small.at, first.at), STRATA_OK);
        assert_int_equal(prefill(&x, large.at, 0, SHORT, b), STRATA_OK);
        assert_memory_equal(a, b, sizeof a);
        assert_int_equal(decode(&x, &small.at, 1, x.ids + SHORT, a), STRATA_OK);
        assert_int_equal(decode(&x, &large.at, 1, x.ids + SHORT, b), STRATA_OK);
        assert_memory_equal(a, b, sizeof a);
        guarded_close(&first), guarded_close(&small), guarded_close(&large);
        close_bench(&x);
    }
}

/* == Sizes and refusals =================================================== */

static void sizes_are_what_the_descriptor_says(void **state) {
    Bench x;
    open_bench(state, &x, &kinds[0], false);
    const strata_model *m = x.b.c.model;
    const strata_api *a = &x.b.c.api;
    /* two layers, two heads of keys and values, floats */
    assert_int_equal(m->state_per_routed, 2 * 2 * (4 + 4) * 4);
    for (int context = 1; context <= CONTEXT; context++) {
        int64_t rows = (context * SOME + ALL - 1) / ALL;
        assert_int_equal(a->state_bytes_share(context, SOME),
                         m->state_constant + context * (m->state_per_token - m->state_per_routed)
                             + rows * m->state_per_routed);
        assert_int_equal(a->state_bytes_share(context, ALL), a->state_bytes(context));
    }
    assert_int_equal(a->state_bytes_share(CONTEXT, 0), 0);
    assert_int_equal(a->state_bytes_share(CONTEXT, ALL + 1), 0);
    assert_int_equal(a->state_bytes_share(CONTEXT + 1, SOME), 0);
    close_bench(&x);
}

static void says(const Bench *x, int status, int want, const char *why) {
    assert_int_equal(status, want);
    if (!strstr(x->b.c.api.message(x->r.ctx.at), why))
        fail_msg("'%s', expected '%s'", x->b.c.api.message(x->r.ctx.at), why);
}

static void states_say_what_they_have_room_for(void **state) {
    Bench x;
    float rows[2 * VOCAB];
    open_bench(state, &x, &kinds[0], false);
    const strata_api *a = &x.b.c.api;
    void *ctx = x.r.ctx.at;
    Guarded small = state_of(&x, SOME), large = state_of(&x, ALL);
    says(&x, a->state_init_share(ctx, small.at, CONTEXT, 0), STRATA_ERROR_ARGUMENT,
         "the share of a state is 0, expected 1 to 1000000");
    says(&x, a->state_init_share(ctx, small.at, CONTEXT, ALL + 1), STRATA_ERROR_ARGUMENT,
         "the share of a state is 1000001");
    says(&x, decode(&x, (void *[]){ small.at, large.at }, 2, x.ids, rows), STRATA_ERROR_STATE,
         "states of one batch need one share; found room for routed tokens: 24 and 4");
    assert_int_equal(prefill(&x, large.at, 0, MOST + 1, NULL), STRATA_OK);
    says(&x, a->state_copy(ctx, small.at, large.at), STRATA_ERROR_FULL,
         "a route took 5 tokens, the state to copy them to has room for 4");
    Guarded ten;
    guarded_open(&ten, a->state_bytes(MOST));
    assert_int_equal(a->state_init(ctx, ten.at, MOST), STRATA_OK);
    says(&x, a->state_copy(ctx, ten.at, large.at), STRATA_ERROR_FULL,
         "the sequence has 10 tokens, the context to copy it to is 9");
    assert_int_equal(a->state_copy(NULL, ten.at, large.at), STRATA_ERROR_ARGUMENT);
    memset(small.at, 0x5a, small.size);
    says(&x, a->state_copy(ctx, small.at, large.at), STRATA_ERROR_STATE, "not one of this model");
    says(&x, a->state_copy(ctx, large.at, small.at), STRATA_ERROR_STATE, "not one of this model");
    guarded_close(&small), guarded_close(&large), guarded_close(&ten);
    close_bench(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_state_is_as_it_was),
        cmocka_unit_test(a_prompt_that_does_not_fit_leaves_nothing),
        cmocka_unit_test(one_of_a_batch_is_full),
        cmocka_unit_test(a_sequence_moves_to_a_longer_context),
        cmocka_unit_test(sizes_are_what_the_descriptor_says),
        cmocka_unit_test(states_say_what_they_have_room_for),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
