/* SPDX-License-Identifier: MIT
** forward_backward: gradients start at zero or at their present values, and each range is reported
** when it is final.
*/
#include "call_arena.h"
#include "call.h"
#include "functions.h"
#include "text.h"

enum { ZERO_BLOCK = 65536 };

typedef struct ZeroRange {
    float *p;
    int64_t n;
} ZeroRange;

static void zero_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    const ZeroRange *r = arg;
    int64_t first = task * ZERO_BLOCK, n = r->n - first;
    k_zero(n < ZERO_BLOCK ? n : ZERO_BLOCK, r->p + first);
}

static void zero(Context *c, float *p, int64_t n) {
    ZeroRange r = { p, n };
    k_par_for(c, (n + ZERO_BLOCK - 1) / ZERO_BLOCK, zero_task, &r);
}

/* Products overwrite most gradients; those that the caller brings add to them. */
static void start_gradients(Context *c, float *gradients) {
    if (c->setup.gemm) {
        zero(c, gradients, k_constants.gradients);
        return;
    }
    for (int64_t i = 0; i < k_constants.spans; i++)
        zero(c, gradients + k_spans[i].first, k_spans[i].count);
}

/* The tokens of a larger batch can be counted. */
static int32_t check_row(Context *c, const strata_loss *out, int64_t B, int64_t T) {
    int64_t most = INT64_MAX / T - B, row = k_says(out) ? out->row : 0;
    if (row >= 0 && row <= most) return STRATA_OK;
    return fail(c, STRATA_ERROR_ARGUMENT, "the row of the batch is ", row, ", expected 0 to ",
                most);
}

EXPORT int32_t model_forward_backward(void *ctx, const void *w, void *train, void *arena,
                                      const int32_t *tokens, const int32_t *targets, int64_t B,
                                      int64_t T, float scale, uint32_t flags, strata_range_fn final,
                                      void *user, strata_loss *out) {
    Context *c = ctx;
    if (!model()->training) return lacks_training(c);
    int32_t status = k_check_call(c, w, arena, tokens, B, T, k_tokens_most());
    if (!status) status = check_region(c, "train", train);
    if (!status) status = k_check_targets(c, targets, B, T);
    if (!status) status = check_finite(c, "scale", (double)scale);
    if (!status && flags & ~(uint32_t)(STRATA_ACCUMULATE | STRATA_PACKED))
        status = fail(c, STRATA_ERROR_ARGUMENT, "the flags are ", flags, ", expected at most ",
                      STRATA_ACCUMULATE | STRATA_PACKED);
    if (!status) status = k_check_loss(c, out);
    if (!status) status = check_row(c, out, B, T);
    if (status) return status;
    Frame f = k_frame(c, PROGRAM_TRAIN, w, arena, tokens, B, T);
    f.targets = targets;
    f.gradients = train;
    f.uniform[0] = scale;
    f.draw = k_says(out) ? out->draw : 0;
    f.draw_from = k_says(out) ? out->row * T : 0;
    f.uniform[2] = f.draw != 0;
    f.accumulate = flags & STRATA_ACCUMULATE;
    if (flags & STRATA_PACKED && k_constants.repacked_floats)
        f.repacked = (float *)train + repacked_from(&k_constants);
    if (!f.accumulate) start_gradients(c, train);
    for (int32_t i = 0; i < f.program->phases; i++) {
        const Stage *p = &k_stages[f.program->phase + i];
        status = k_call_phase(&f, i);
        if (status) return status;
        if (final && p->final_count && final(user, p->final_first, p->final_count))
            return fail(c, STRATA_ERROR_STOPPED, "'final' asked to stop; gradients are final from ",
                        p->final_first, ", as many as ", p->final_count);
    }
    k_report(&f, out);
    return STRATA_OK;
}
