/* SPDX-License-Identifier: MIT
** Sequences that grow: prefill, decode and extend. */
#include "call_arena.h"
#include "call.h"
#include "functions.h"
#include "states.h"
#include "text.h"

/* A position's cache would have to change when later tokens come. */
static int32_t check_causal(Context *c) {
    const char *site = strata_string(model(), model()->acausal),
               *ahead = strata_string(model(), model()->ahead);
    if (!site[0] && !ahead[0]) return STRATA_OK;
    TextBuffer t = message(c);
    put(&t, site[0] ? "the model is not causal at " : "the model chooses among later tokens at ");
    put(&t, site[0] ? site : ahead);
    put(&t, ": it cannot go token by token");
    return STRATA_ERROR_MISSING;
}

/* The last token phase works on the last position only: nothing reads the rest. */
static int32_t run_last(Frame *f, int last_logits) {
    const ModelProgram *p = f->program;
    int32_t status = STRATA_OK;
    f->whole_phases = p->phases - 1;
    for (int32_t i = 0; !status && i < p->phases; i++) {
        if (i == p->phases - 1 && !k_stages[p->phase + i].global) {
            if (!last_logits) break;
            f->from = f->N - 1;
            f->few = 1;
        }
        status = k_call_phase(f, i);
    }
    return status;
}

static int32_t sequences_finish(const Frame *f, int32_t status) {
    if (status) k_restore(f);
    else k_advance(f);
    return status;
}

/* Sequences that grow by T tokens each, whose states are ready for it. */
static Frame begin_growth(Context *c, const void *w, void *arena, const int32_t *tokens,
                          State *const *states, int64_t B, int64_t T) {
    Frame f = k_frame(c, PROGRAM_GENERATE, w, arena, tokens, B, T);
    f.states = states;
    for (int64_t b = 0; b < B; b++)
        for (int64_t i = 0; i < T; i++)
            f.position[b * T + i] = (int32_t)(states[b]->length + i);
    k_begin_sequences(&f);
    return f;
}

/* As decoding does: products of few rows, and logits of each. */
static int32_t grow_by_few(Frame *f, float *logits) {
    f->logits = logits;
    f->few = 1;
    return sequences_finish(f, k_call(f));
}

EXPORT int32_t model_prefill(void *ctx, const void *w, void *state, void *arena,
                             const int32_t *tokens, int64_t n, float *logits) {
    Context *c = ctx;
    int32_t status = k_check_call(c, w, arena, tokens, 1, n, k_tokens_most());
    if (!status) status = check_causal(c);
    if (!status) status = k_check_state(c, state, n);
    if (status) return status;
    State *one[1] = { state };
    Frame f = begin_growth(c, w, arena, tokens, one, 1, n);
    if (logits) f.logits = logits - (n - 1) * model()->vocab;
    status = run_last(&f, logits != 0);
    return sequences_finish(&f, status);
}

EXPORT int32_t model_decode(void *ctx, const void *w, void *const *states, int32_t batch,
                            void *arena, const int32_t *tokens, float *logits) {
    Context *c = ctx;
    int32_t status = k_check_call(c, w, arena, tokens, batch, 1, k_constants.chunk);
    if (!status) status = check_causal(c);
    if (!status) status = check_pointer(c, "states", states);
    if (!status) status = check_pointer(c, "logits", logits);
    if (!status) status = k_check_batch(c, (State *const *)states, batch);
    if (status) return status;
    Frame f = begin_growth(c, w, arena, tokens, (State *const *)states, batch, 1);
    return grow_by_few(&f, logits);
}

/* Products of few rows, attention and operations over time of STRATA_BACK tokens go token by token:
** the bits are those of as many calls of decode. */
EXPORT int32_t model_extend(void *ctx, const void *w, void *state, void *arena,
                            const int32_t *tokens, int64_t n, float *logits) {
    Context *c = ctx;
    int32_t status = k_check_call(c, w, arena, tokens, 1, n, k_tokens_most());
    if (!status && n > STRATA_BACK)
        status = fail(c, STRATA_ERROR_ARGUMENT, "the number of tokens is ", n, ", expected 1 to ",
                      STRATA_BACK);
    if (!status) status = check_causal(c);
    if (!status) status = check_pointer(c, "logits", logits);
    if (!status) status = k_check_state(c, state, n);
    if (status) return status;
    State *one[1] = { state };
    Frame f = begin_growth(c, w, arena, tokens, one, 1, n);
    return grow_by_few(&f, logits);
}
