/* SPDX-License-Identifier: MIT
** Sampling for programs that embed models (strata.h): what generate draws with. */
#include "strata.h"

#include <math.h>
#include <stdlib.h>

#include "library.h"
#include "sample.h"

struct strata_sampler {
    Sampler s;
};

/* False of NaN. */
static bool is_share(double x) { return x >= 0 && x <= 1; }

static int check_sampling(const strata_sampling *how, Error *e) {
    const char *wrong = NULL;
    if (how->struct_size != sizeof *how) wrong = "struct_size: expected sizeof(strata_sampling)";
    else if (how->reserved) wrong = "reserved: expected 0";
    else if (!(how->temperature >= 0 && isfinite(how->temperature)))
        wrong = "temperature: expected a finite number of at least 0";
    else if (!is_share(how->top_p)) wrong = "top_p: expected a number from 0 to 1";
    else if (!is_share(how->min_p)) wrong = "min_p: expected a number from 0 to 1";
    else if (how->top_k < 0) wrong = "top_k: expected at least 0";
    else if (how->ids < 1) wrong = "ids: expected at least 1";
    return wrong ? error_set(e, STATUS_USER, "sampling: %s, found another", wrong) : STATUS_OK;
}

static int open_sampler(strata_sampler *x, const strata_sampling *how, Error *e) {
    if (!x) return error_memory(e, "sampler", sizeof *x);
    x->s = (Sampler){ .temperature = how->temperature,
                      .top_k = how->top_k,
                      .top_p = how->top_p,
                      .min_p = how->min_p,
                      .seed = how->seed };
    return sampler_open(&x->s, how->ids, e);
}

int32_t strata_sampler_new(const strata_sampling *how, strata_sampler **out, char *message,
                           size_t size) {
    Error e = { 0 };
    if (!how || !out) {
        error_set(&e, STATUS_USER, "the %s: expected a pointer, found NULL",
                  how ? "sampler" : "sampling");
        return tell(&e, e.status, message, size);
    }
    strata_sampler *x = NULL;
    int status = check_sampling(how, &e);
    if (!status) x = calloc(1, sizeof *x), status = open_sampler(x, how, &e);
    if (status) free(x);
    *out = status ? NULL : x;
    return tell(&e, status, message, size);
}

void strata_sampler_free(strata_sampler *s) {
    if (s) sampler_close(&s->s);
    free(s);
}

int32_t strata_sampler_next(strata_sampler *s, const float *logits, int64_t position) {
    return s && logits ? sampler_next(&s->s, logits, position) : -1;
}
