/*
** Mean loss over a text: sequential windows, every token but the first predicted once.
*/
#ifndef STRATA_EVALUATE_H
#define STRATA_EVALUATE_H

#include "data.h"
#include "session.h"

typedef struct Evaluation {
    double nll;             /* sum over tokens, nats */
    int64_t tokens;         /* predicted */
} Evaluation;

static inline double evaluation_loss(const Evaluation *v)
{
    return v->nll / (double)v->tokens;
}

/* 'batch' windows of 'length' tokens at once; the arena must hold batch * length. */
int evaluate(Session *s, const Data *d, int64_t length, int64_t batch, Evaluation *out, Error *e);

#endif
