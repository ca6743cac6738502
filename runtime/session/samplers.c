/* SPDX-License-Identifier: MIT
** Sampling for programs that embed models (strata.h): what generate draws with. */
#include "strata.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"
#include "sample.h"

struct strata_sampler {
    Sampler s;
};

/* False of NaN. */
static bool is_share(double x) { return x >= 0 && x <= 1; }

/* A member that is not there yet is what it means by then. */
static bool read_sampling(strata_sampling *how, const strata_sampling *given) {
    static const size_t before_penalty = offsetof(strata_sampling, repeat_penalty);
    size_t size = given->struct_size;
    if (size != sizeof *how && size != before_penalty) return false;
    *how = (strata_sampling){ 0 };
    memcpy(how, given, size);
    if (how->repeat_penalty == 0) how->repeat_penalty = 1; /* callers that do not name it */
    return true;
}

static int check_sampling(const strata_sampling *how, Error *e) {
    const char *wrong = NULL;
    if (how->reserved) wrong = "reserved: expected 0";
    else if (!(how->temperature >= 0 && isfinite(how->temperature)))
        wrong = "temperature: expected a finite number of at least 0";
    else if (!is_share(how->top_p)) wrong = "top_p: expected a number from 0 to 1";
    else if (!is_share(how->min_p)) wrong = "min_p: expected a number from 0 to 1";
    else if (how->top_k < 0) wrong = "top_k: expected at least 0";
    else if (how->ids < 1) wrong = "ids: expected at least 1";
    else if (!(how->repeat_penalty >= 1 && how->repeat_penalty <= 1000))
        wrong = "repeat_penalty: expected 0, none, or a number from 1 to 1000";
    return wrong ? error_set(e, STATUS_USER, "sampling: %s, found another", wrong) : STATUS_OK;
}

static int open_sampler(strata_sampler *x, const strata_sampling *how, Error *e) {
    if (!x) return error_memory(e, "sampler", sizeof *x);
    x->s.how = (Sampling){ .temperature = how->temperature,
                           .top_k = how->top_k,
                           .top_p = how->top_p,
                           .min_p = how->min_p,
                           .penalty = how->repeat_penalty,
                           .seed = how->seed };
    return sampler_open(&x->s, how->ids, e);
}

int32_t strata_sampler_new(const strata_sampling *given, strata_sampler **out, char *message,
                           size_t size) {
    Error e = { 0 };
    if (!given || !out) {
        error_set(&e, STATUS_USER, "the %s: expected a pointer, found NULL",
                  given ? "sampler" : "sampling");
        return tell(&e, e.status, message, size);
    }
    strata_sampler *x = NULL;
    strata_sampling how;
    int status = STATUS_OK;
    if (read_sampling(&how, given)) status = check_sampling(&how, &e);
    else
        status = error_set(&e, STATUS_USER,
                           "sampling: struct_size: expected sizeof(strata_sampling), "
                           "found another");
    if (!status) x = calloc(1, sizeof *x), status = open_sampler(x, &how, &e);
    if (status) free(x);
    *out = status ? NULL : x;
    return tell(&e, status, message, size);
}

void strata_sampler_free(strata_sampler *s) {
    if (s) sampler_close(&s->s);
    free(s);
}

int32_t strata_sampler_next(strata_sampler *s, const float *logits, int64_t position) {
    if (!s || !logits) return -1;
    int32_t id = sampler_next(&s->s, logits, position);
    sampler_see(&s->s, id);
    return id;
}

void strata_sampler_see(strata_sampler *s, const int32_t *tokens, int64_t n) {
    for (int64_t i = 0; s && tokens && i < n; i++)
        sampler_see(&s->s, tokens[i]);
}

void strata_sampler_forget(strata_sampler *s) {
    if (s) sampler_forget(&s->s);
}
