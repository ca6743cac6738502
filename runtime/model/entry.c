/* SPDX-License-Identifier: MIT
** The functions of a compiled model (abi.h) that describe it, and those that run one program
** from a call's beginning to its end: logits, loss, probe. The others: setup.c, states.c,
** sequences.c, gradients.c, update.c. Each is called model_NAME here; the compiler renames them to
** PREFIX_NAME and hides everything else.
*/
#include "call_arena.h"
#include "call.h"
#include "functions.h"
#include "plain.h"
#include "text.h"

EXPORT size_t model_arena_bytes(int64_t tokens, int32_t workers) {
    return k_arena_bytes(false, tokens, workers);
}

EXPORT const strata_model *model_model(void) { return model(); }

EXPORT const char *model_strerror(int32_t status) {
    switch (status) {
    case STRATA_OK: return "done";
    case STRATA_ERROR_ARGUMENT: return "an argument is wrong";
    case STRATA_ERROR_CPU: return "the processor lacks a feature this model was compiled for";
    case STRATA_ERROR_STATE: return "the state belongs to another model or context";
    case STRATA_ERROR_FULL:
        return "the sequence would be longer than its context, or than its state has room for";
    case STRATA_ERROR_MISSING: return "the model was built without this function";
    case STRATA_ERROR_STOPPED: return "stopped by the caller";
    case STRATA_ERROR_PAST: return "the state does not keep what going back so far needs";
    case STRATA_ERROR_CHECK: return "a stray access was found";
    default: return "unknown status";
    }
}

/* Of a control block that init looked at, on whatever processor. */
PLAIN EXPORT const char *model_message(const void *ctx) {
    const Context *c = ctx;
    bool is_one = c && (uintptr_t)c % STRATA_ALIGN == 0
        && (c->stamp == stamp_of(READY) || c->stamp == stamp_of(REFUSED));
    return is_one ? c->message : "";
}

EXPORT int32_t model_logits(void *ctx, const void *w, void *arena, const int32_t *tokens, int64_t B,
                            int64_t T, float *out) {
    int32_t status = k_check_call(ctx, w, arena, tokens, B, T, k_tokens_most());
    if (!status) status = check_pointer(ctx, "out", out);
    if (status) return status;
    bool generated = ((Context *)ctx)->setup.flags & STRATA_AS_GENERATED;
    Frame f = k_frame(ctx, generated ? PROGRAM_GENERATE : PROGRAM_LOGITS, w, arena, tokens, B, T);
    f.logits = out;
    return k_call(&f);
}

/* == Loss ================================================================= */

EXPORT int32_t model_loss(void *ctx, const void *w, void *arena, const int32_t *tokens,
                          const int32_t *targets, int64_t B, int64_t T, float *nll,
                          strata_loss *out) {
    int32_t status = k_check_call(ctx, w, arena, tokens, B, T, k_tokens_most());
    if (!status) status = k_check_targets(ctx, targets, B, T);
    if (!status) status = k_check_loss(ctx, out);
    if (status) return status;
    bool generated = ((Context *)ctx)->setup.flags & STRATA_AS_GENERATED;
    Frame f = k_frame(ctx, generated ? PROGRAM_SCORE : PROGRAM_LOSS, w, arena, tokens, B, T);
    f.targets = targets;
    status = k_call(&f);
    if (status) return status;
    k_report(&f, out);
    const float *from = k_resolve(&f, &f.program->result, 0, 0);
    for (int64_t i = 0; nll && i < f.N; i++)
        nll[i] = from[i * f.program->result.stride];
    return STRATA_OK;
}

/* == Probe: no export, main() hands them on =============================== */

size_t model_probe_arena_bytes(int64_t tokens, int32_t workers) {
    return k_arena_bytes(true, tokens, workers);
}

/* A list without rows may not have been made at all. */
static void report_taken(const Frame *f, uint8_t *taken) {
    for (int32_t i = 1; i <= k_constants.lists; i++)
        for (int64_t t = 0; t < f->N; t++)
            *taken++ = f->list[i].count && f->list[i].place[t] >= 0;
}

int32_t model_probe(void *ctx, const void *w, void *arena, const int32_t *tokens,
                    const int32_t *targets, int64_t B, int64_t T, float *out, uint8_t *taken,
                    strata_loss *loss) {
    int32_t status = k_check_call(ctx, w, arena, tokens, B, T, k_tokens_most());
    if (!status) status = check_pointer(ctx, "out", out);
    if (!status) status = k_check_targets(ctx, targets, B, T);
    if (!status) status = k_check_loss(ctx, loss);
    if (status) return status;
    Frame f = k_frame(ctx, PROGRAM_PROBE, w, arena, tokens, B, T);
    f.targets = targets;
    status = k_call(&f);
    if (status) return status;
    k_report(&f, loss);
    for (int32_t i = 0; i < k_constants.probe_results; i++) {
        const ProbeResult *r = &k_probe_results[i];
        const float *from = k_resolve(&f, &r->ref, 0, 0);
        for (int64_t k = 0; k < r->count; k++)
            *out++ = from[k];
    }
    if (taken) report_taken(&f, taken);
    return STRATA_OK;
}
