/* SPDX-License-Identifier: MIT
** Recurrences for random graphs: values that stay small, decays and betas that make sense. */
#ifndef TESTS_RECURRENCE_DRAW_H
#define TESTS_RECURRENCE_DRAW_H

#include "graph.h"

/* Of q, k [G,dk], v [H,dv], a decay of any numbers [H] or [H,dk], a rate of any [H,dk] that are
** the same for all tokens, and a beta of any [H]; NULL: there is none. */
Node *drawn_recurrence(Node *q, Node *k, Node *v, Node *decay, Node *rate, Node *beta);
/* The op, which a drawn one is made of. */
Node *drawn_recurrence_op(Node *drawn);

#endif
