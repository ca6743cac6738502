/* SPDX-License-Identifier: MIT
** What a sequence of 20 000 tokens takes: the memory of a standalone program's state is that of the
** rows there are, keys and values of all tokens in dense layers and of the routed ones in the
** others (tests/published.txt, 17, with values of 4 bytes), and less than a tenth more.
*/
#include "test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiled_spec.h"
#include "scratch.h"
#include "session.h"

enum {
    TOKENS = 20000,
    DECODED = 16,
    CHUNK = 5000,
    VOCAB = 8,
    HEAD = 64,
    KV = 1,
    DENSE = 1,
    ROUTED = 3
};

static const char spec[] =
    "local function one(r) return layer { attention { heads = 1, head_dim = 64, rope = {} }, mlp { "
    "hidden = 8 }, route = r } end\n"
    "return model { name = 'm', vocab = 8, context = 20480, dim = 16, norm = rmsnorm {},\n"
    "  layers = { one(), times(3, one(dtr {})) } }\n";

/* Bytes of a region that are in memory. */
static int64_t resident(const Region *r) {
    int64_t page = sysconf(_SC_PAGESIZE), pages = ((int64_t)r->bytes + page - 1) / page, count = 0;
    unsigned char *in = calloc((size_t)pages, 1);
    assert_non_null(in);
    assert_int_equal(mincore(r->at, r->bytes, in), 0);
    for (int64_t i = 0; i < pages; i++)
        count += in[i] & 1;
    free(in);
    return count * page;
}

static void decode(Session *s, void *state, int32_t id) {
    float logits[VOCAB];
    assert_int_equal(s->api->decode(s->ctx.at, s->weights.at, &state, 1, s->arena.at, &id, logits),
                     STRATA_OK);
}

/* With so many thousandths of the tokens routed. */
static int64_t measured(Session *s, const int32_t *ids, int share) {
    Error e;
    Region state;
    s->setup.routed = 1 + 1000 * share;
    assert_int_equal(session_setup(s, &e), 0);
    assert_int_equal(session_state(s, &state, s->m->context, &e), 0);
    for (int at = 0; at < TOKENS - DECODED; at += CHUNK) {
        int n = TOKENS - DECODED - at < CHUNK ? TOKENS - DECODED - at : CHUNK;
        assert_int_equal(
            s->api->prefill(s->ctx.at, s->weights.at, state.at, s->arena.at, ids + at, n, NULL),
            STRATA_OK);
    }
    for (int at = TOKENS - DECODED; at < TOKENS; at++)
        decode(s, state.at, ids[at]);
    int64_t bytes = resident(&state);
    region_close(&state);
    return bytes;
}

static int64_t formula(int share) {
    int64_t row = KV * HEAD * 2 * sizeof(float), routed = (int64_t)TOKENS * share / 1000;
    return DENSE * TOKENS * row + ROUTED * routed * row;
}

static void memory_is_that_of_the_rows(void **state) {
    static const int share[] = { 0, 100, 550, 1000 };
    char path[SCRATCH_PATH];
    Built b;
    Session s;
    Error e;
    built_open(&b, scratch_path(state, "memory.lua", path), spec,
               &(CodegenOptions){ .cpu = "native", .passes.inference = true, .level = 2 });
    b.c.api.struct_size = sizeof b.c.api;
    assert_int_equal(session_open(&s, &b.c.api, NULL, 1, &e), 0);
    assert_int_equal(session_weights(&s, &e), 0);
    assert_int_equal(session_arena(&s, CHUNK, true, &e), 0);
    int32_t *ids = some_ids(&b.c, 1, TOKENS);
    for (size_t i = 0; i < sizeof share / sizeof *share; i++) {
        int64_t got = measured(&s, ids, share[i]), want = formula(share[i]);
        if (got < want || got > want + want / 10)
            fail_msg("%d thousandths routed: %lld bytes, expected %lld and at most a tenth more",
                     share[i], (long long)got, (long long)want);
    }
    free(ids);
    session_close(&s);
    built_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(memory_is_that_of_the_rows) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
