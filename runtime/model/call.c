/* SPDX-License-Identifier: MIT
** Shared by all calls: they check their arguments, run a program's phases, and report a loss.
*/
#include "call.h"
#include "driver.h"
#include "guard.h"
#include "text.h"

/* == Arguments ============================================================ */

static int32_t check_ids(Context *c, const char *what, const int32_t *ids, int64_t B, int64_t T) {
    for (int64_t i = 0; i < B * T; i++) {
        if ((uint32_t)ids[i] < (uint32_t)model()->vocab) continue;
        TextBuffer t = message(c);
        put(&t, what), put(&t, " ["), put_number(&t, i / T), put(&t, ","), put_number(&t, i % T),
            put(&t, "] is ");
        put_number(&t, ids[i]), put(&t, ", expected 0 to "), put_number(&t, model()->vocab - 1);
        return STRATA_ERROR_ARGUMENT;
    }
    return STRATA_OK;
}

int32_t k_check_call(Context *c, const void *w, const void *arena, const int32_t *tokens, int64_t B,
                     int64_t T, int64_t most) {
    if (!begin_call(c)) return STRATA_ERROR_ARGUMENT;
    int32_t status = check_region(c, "w", w);
    if (!status) status = check_region(c, "arena", arena);
    if (!status) status = check_pointer(c, "tokens", tokens);
    if (status) return status;
    if (T < 1 || T > c->length)
        return fail(c, STRATA_ERROR_ARGUMENT, "the sequence length is ", T, ", expected 1 to ",
                    c->length);
    if (B < 1 || B > most / T)
        return fail(c, STRATA_ERROR_ARGUMENT, "the batch is ", B, ", expected 1 to ", most / T);
    return check_ids(c, "token", tokens, B, T);
}

int32_t k_check_targets(Context *c, const int32_t *targets, int64_t B, int64_t T) {
    int32_t status = check_pointer(c, "targets", targets);
    return status ? status : check_ids(c, "target", targets, B, T);
}

/* == Phases =============================================================== */

int32_t k_call_phase(Frame *f, int32_t number) {
    const Stage *phase = &k_stages[f->program->phase + number];
    k_run_phase(f, phase);
    if (f->status) return f->status;
    return k_constants.check ? k_check_phase(f, phase) : STRATA_OK;
}

int32_t k_call(Frame *f) {
    int32_t status = STRATA_OK;
    for (int32_t i = 0; !status && i < f->program->phases; i++)
        status = k_call_phase(f, i);
    return status;
}

/* == Loss ================================================================= */

/* A caller who set the size set what is asked of it too. */
bool k_says(const strata_loss *out) { return out && out->struct_size == sizeof *out; }

int32_t k_check_loss(Context *c, const strata_loss *out) {
    if (!k_says(out)) return STRATA_OK;
    return check_reserved(c, "the loss", out->reserved, sizeof out->reserved);
}

void k_report(const Frame *f, strata_loss *out) {
    const float *nll = k_resolve(f, &f->program->result, 0, 0);
    int64_t stride = f->program->result.stride;
    double sum = 0;
    if (!out) return;
    unsigned mode = enter_mode();
    for (int64_t i = 0; i < f->N; i++)
        sum += nll[i * stride];
    out->cross_entropy = out->loss = sum / (double)f->N;
    leave_mode(mode);
    if (f->program->loss.area != AREA_NONE) out->loss = *k_resolve(f, &f->program->loss, 0, 0);
    for (int32_t i = 0; k_says(out) && out->routed && i < k_constants.lists; i++)
        out->routed[i] = (double)f->list[i + 1].count / (double)f->N;
}
