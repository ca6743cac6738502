/* SPDX-License-Identifier: MIT
** What random graphs (fuzz_graph.h) are made of: a draw is an op with operands drawn from the
** pool of values so far and bent into the shape and the range that the op needs.
*/
#ifndef TESTS_FUZZ_DRAW_H
#define TESTS_FUZZ_DRAW_H

#include "fuzz_graph.h"
#include "numeric.h"

enum { POOL = 4096, MOST = 64 }; /* values; elements per token */

typedef struct Fuzz {
    Graph *g;
    Random random;
    Node *pool[POOL];
    int n, params;
} Fuzz;

Node *fuzz_draw(Fuzz *f, Op op);
Node *fuzz_param(Fuzz *f, Shape s);
Node *fuzz_dense(Node *x); /* x with rows for all tokens */
int64_t fuzz_length(Fuzz *f);
/* A value that every token has its own of: one axis, of any length or this one; two. */
Node *fuzz_vector(Fuzz *f);
Node *fuzz_vector_of(Fuzz *f, int64_t count);
Node *fuzz_heads(Fuzz *f, int64_t count, int64_t size);
Node *fuzz_list(Fuzz *f); /* what rows() returns */
/* fuzz_history.c: ops whose past is of a fixed size, and the gradient of taps */
Node *fuzz_history(Fuzz *f, Op op);
Node *fuzz_choice(Fuzz *f, Op op); /* fuzz_choice.c */

#endif
