/* SPDX-License-Identifier: MIT
** Mean loss over a text: sequential windows that predict every token except the first once.
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

/* What is evaluated of a source: 'batch' windows of 'length' tokens at once; the arena must hold
** batch * length. */
typedef struct EvaluationPlan {
    int source;
    int64_t length, batch;
    int64_t most; /* > 0: of windows spread evenly, one or more, that have so many tokens; 0: all */
    /* told of windows that were done, and of their loss; NULL: nobody is */
    void (*watch)(void *user, int64_t windows, double nll, int64_t tokens);
    void *user;
    const strata_reducer *reducer; /* ranks that share the windows; NULL: this one has all */
} EvaluationPlan;

/* In the form that generates, and in the one that is trained if they differ. */
int evaluate(Session *s, const Data *d, const EvaluationPlan *plan, Evaluation *out, Error *e);

#endif
