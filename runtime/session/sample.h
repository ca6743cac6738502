/* SPDX-License-Identifier: MIT
** Chooses the next token from logits and from the tokens before it.
*/
#ifndef STRATA_SAMPLE_H
#define STRATA_SAMPLE_H

#include "error.h"

typedef struct Sampling {
    double temperature; /* 0: the likeliest token, of equals the smallest id */
    int64_t top_k;      /* 0: all */
    double top_p;       /* 1: all; the likeliest token always stays */
    double min_p;       /* of the likeliest one's probability, what others need; 0: nothing */
    double penalty;     /* above 1: makes tokens that were seen less likely; 1: nothing */
    uint64_t seed;
} Sampling;

typedef struct Sampler {
    Sampling how;
    int32_t ids;    /* only 0 … ids-1 are chosen */
    int32_t *order; /* [ids] scratch */
    double *weight; /* [ids] scratch */
    bool *seen;     /* [ids]: in the sequence; NULL: there is no penalty */
    float *logits;  /* [ids] scratch: with the penalty */
} Sampler;

/* 'how' is set before. */
int sampler_open(Sampler *s, int32_t ids, Error *e);
void sampler_close(Sampler *s);

/* The token for a position; a function of (logits, options, seed, position) and, with a penalty,
** of the tokens seen, which stay as they are.  -1: a logit is not finite. */
int32_t sampler_next(Sampler *s, const float *logits, int64_t position);

/* A token of the sequence, its prompt's or one that was drawn; ids that are never drawn may come.
** Whether that changed what was seen. */
bool sampler_see(Sampler *s, int32_t id);
void sampler_unsee(Sampler *s, int32_t id);
void sampler_forget(Sampler *s); /* the sequence is empty again */

#endif
