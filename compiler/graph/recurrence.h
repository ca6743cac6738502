/* SPDX-License-Identifier: MIT
** The operands of the operations recurrence and recurrence_grad, given by their attributes and
** shapes.
*/
#ifndef STRATA_RECURRENCE_H
#define STRATA_RECURRENCE_H

#include "graph.h"

/* Tokens between states that the gradient's kernel keeps; its result that it keeps them in; the
** one of rates, and how many sums over sequences that is: sequences whose numbers leave the same
** remainder have one, so that sums do not depend on who computes them. */
enum { RECURRENCE_CHUNK = 64, RECURRENCE_ROOM = 5, RECURRENCE_RATE = 6, RECURRENCE_SUMS = 8 };

typedef struct RecurrenceShape {
    int64_t heads, groups; /* of v and o; of q and k */
    int64_t dk, dv;        /* of a head of q and k; of v */
    int decay, rate, beta; /* which operands; 0: there is none */
    bool by_head;          /* one decay for all channels; with rates no */
} RecurrenceShape;

RecurrenceShape recurrence_shape(const Node *n);
/* Numbers of a head's state up to which tokens go one by one: recurrence_lanes.h
** says when. */
enum { RECURRENCE_SMALL = 32 };
/* Operations per token: of the form by chunks, in which a token meets half a chunk on average, or,
** where states are small, of the recurrence as it is defined. */
double recurrence_flops(const Node *n);

#endif
