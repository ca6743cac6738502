/* SPDX-License-Identifier: MIT
** Mean loss over a text: sequential windows, every token but the first predicted once.
*/
#ifndef STRATA_EVALUATE_H
#define STRATA_EVALUATE_H

#include "data.h"
#include "session.h"

typedef struct Evaluation {
    double nll;          /* sum over tokens, nats */
    int64_t tokens;      /* predicted */
    double training_nll; /* the same of the form that is trained, if that is another */
} Evaluation;

static inline double evaluation_loss(const Evaluation *v) { return v->nll / (double)v->tokens; }

static inline double evaluation_training_loss(const Evaluation *v) {
    return v->training_nll / (double)v->tokens;
}

/* Of a source's tokens, in the form that generates, and in the one that is trained if they differ.
** 'batch' windows of 'length' tokens at once; the arena must hold batch * length.  most > 0: of
** windows spread evenly, a window or more, that have so many tokens; 0: of all. */
int evaluate(Session *s, const Data *d, int source, int64_t length, int64_t batch, int64_t most,
             Evaluation *out, Error *e);

#endif
