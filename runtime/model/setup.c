/* SPDX-License-Identifier: MIT
** init: checks the processor and the setup, and makes the tables of rotations, stretched if the
** setup asks for it.
*/
#include "cpu.h"
#include "functions.h"
#include "plain.h"
#include "text.h"

/* == Tables =============================================================== */

/* YaRN (arXiv 2309.00071): a frequency that turns more than BETA_FAST times in the context stays,
** one that turns less than BETA_SLOW times is divided by the factor; between them, a ramp over the
** channels. Frequencies are a geometric series. */
enum { BETA_FAST = 32, BETA_SLOW = 1, STRETCHED = 512 };

static void stretch(int64_t n, const double *from, double factor, double *to) {
    double turn = 6.283185307179586 / model()->context, ratio = from[1] / from[0], low = 0,
           high = 0;
    for (double f = from[0] * ratio; f >= turn * BETA_FAST && low < 2 * n; f *= ratio)
        low++;
    for (double f = from[0]; f > turn * BETA_SLOW && high < 2 * n - 1; f *= ratio)
        high++;
    if (low == high) high += 0.001;
    for (int64_t i = 0; i < n; i++) {
        double ramp = ((double)i - low) / (high - low);
        ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
        to[i] = from[i] / factor * ramp + from[i] * (1 - ramp);
    }
}

/* NaN is neither. */
static bool is_finite_positive(float x) { return x > 0 && x <= __FLT_MAX__; }

static int32_t check_stretch(Context *c, const strata_setup *u) {
    if (u->yarn == 0) return STRATA_OK;
    if (!is_finite_positive(u->yarn) || !is_finite_positive(u->yarn_scale)) {
        TextBuffer t = message(c);
        put(&t, is_finite_positive(u->yarn) ? "yarn_scale" : "yarn");
        put(&t, ": expected a finite number above 0, found another");
        return STRATA_ERROR_ARGUMENT;
    }
    for (int32_t i = 0; i < k_constants.waves; i++)
        if (k_waves[i].count > 1 && (k_waves[i].scale != 1 || k_waves[i].count > STRETCHED))
            return fail(c, STRATA_ERROR_ARGUMENT,
                        "rotations are stretched already, or have more frequencies than ",
                        STRETCHED, "; factor ", u->yarn < 1e6f ? (int64_t)u->yarn : 1000000);
    return STRATA_OK;
}

static void make_tables(Context *c) {
    float *tables = context_tables(c);
    int64_t context = model()->context;
    unsigned mode = enter_mode();
    for (int32_t i = 0; i < k_constants.waves; i++) {
        const Wave *w = &k_waves[i];
        const double *frequency = &k_frequencies[w->frequency];
        double other[STRETCHED], scale = w->scale;
        if (c->setup.yarn > 0 && w->count > 1) {
            stretch(w->count, frequency, c->setup.yarn, other);
            frequency = other, scale = c->setup.yarn_scale;
        }
        k_wave(0, c->length, w->count, frequency, scale, w->sine,
               tables + wave_offset(w->offset, context, c->length), w->ld);
    }
    leave_mode(mode);
}

/* == Setup ================================================================ */

/* What this version has no meaning for is refused, so that a later one may give it some. */
static int32_t check_unused(Context *c, const strata_setup *u) {
    enum { FLAGS = STRATA_AS_GENERATED | STRATA_NO_BLAS | STRATA_ALL_BLAS };
    if (u->flags & ~(uint32_t)FLAGS)
        return fail(c, STRATA_ERROR_ARGUMENT, "the setup's flags are ", u->flags,
                    ", expected at most ", FLAGS);
    for (size_t i = 0; i < sizeof u->reserved / sizeof *u->reserved; i++)
        if (u->reserved[i])
            return fail(c, STRATA_ERROR_ARGUMENT, "a reserved member of the setup is ",
                        u->reserved[i], ", expected ", 0);
    return STRATA_OK;
}

static int32_t check_setup(Context *c, const strata_setup *u) {
    int32_t status = check_unused(c, u);
    if (status) return status;
    if (u->routed < 0 || u->routed > 1000001)
        return fail(c, STRATA_ERROR_ARGUMENT, "the routed share is ", u->routed, ", expected 0 to ",
                    1000001);
    if (u->workers < 1)
        return fail(c, STRATA_ERROR_ARGUMENT, "workers is ", u->workers, ", expected at least ", 1);
    if (u->length < 0)
        return fail(c, STRATA_ERROR_ARGUMENT, "the longest sequence is ", u->length,
                    ", expected at least ", 0);
    if (u->length > model()->context && model()->learned_positions)
        return fail(c, STRATA_ERROR_ARGUMENT, "the longest sequence is ", u->length,
                    ", and there are no more positions than ", model()->context);
    return check_stretch(c, u);
}

/* Apart, as init runs on any processor and this on the model's. */
static __attribute__((noinline)) int32_t setup_prepare(void *ctx, const strata_setup *setup) {
    Context *c = ctx;
    c->setup = (strata_setup){ .struct_size = sizeof(strata_setup), .workers = 1 };
    if (setup) c->setup = *setup;
    int32_t status = check_setup(c, &c->setup);
    if (status) return status;
    if (!c->setup.par_for) c->setup.workers = 1;
    if (k_constants.blas && !k_blas_open() && c->setup.workers > 1)
        return fail(
            c, STRATA_ERROR_ARGUMENT,
            "OpenBLAS was not built to be called from several threads (libopenblas0-pthread "
            "is); workers is ",
            c->setup.workers, ", expected ", 1);
    c->length = c->setup.length > model()->context ? c->setup.length : model()->context;
    make_tables(c);
    c->stamp = stamp_of(READY);
    return STRATA_OK;
}

/* The message, by the plainest instructions: 'volatile' keeps memcpy and the like away. */
PLAIN static int32_t setup_refuse(Context *c, int32_t status, const char *what, const char *which) {
    volatile char *to = c->message;
    for (const char *s = what; *s; s++)
        *to++ = *s;
    for (const char *s = which; *s; s++)
        *to++ = *s;
    *to = 0;
    return status;
}

/* Compiled for the plainest processor: it finds out what this one has. */
PLAIN EXPORT int32_t model_init(void *ctx, size_t bytes, const strata_setup *setup) {
    Context *c = ctx;
    if (!c || bytes < sizeof c->stamp || (uintptr_t)ctx % STRATA_ALIGN)
        return STRATA_ERROR_ARGUMENT;
    c->stamp = 0; /* a message of an earlier call is not this one's */
    if (bytes < sizeof *c) return STRATA_ERROR_ARGUMENT;
    c->stamp = stamp_of(REFUSED);
    if (bytes < (size_t)model()->ctx_bytes)
        return setup_refuse(c, STRATA_ERROR_ARGUMENT, "the control block is smaller",
                            " than the model's ctx_bytes");
    c->message[0] = 0;
    if (setup && setup->struct_size != sizeof *setup)
        return setup_refuse(c, STRATA_ERROR_ARGUMENT, "the setup has another struct_size",
                            " than sizeof(strata_setup)");
    if (setup && setup->length > model()->context
        && bytes < (size_t)strata_ctx_bytes(model(), setup->length))
        return setup_refuse(c, STRATA_ERROR_ARGUMENT, "the control block is smaller",
                            " than strata_ctx_bytes of the setup's length");
    const char *missing = k_cpu_missing();
    return missing ? setup_refuse(c, STRATA_ERROR_CPU, "the processor lacks ", missing)
                   : setup_prepare(ctx, setup);
}
