/* SPDX-License-Identifier: MIT
** Small models around something to be tested: an embedding, values of any
** shape made from it, and a head that every element of every value given to
** probe_read matters to, forward and backward.
*/
#ifndef TESTS_SMALL_MODEL_H
#define TESTS_SMALL_MODEL_H

#include "numeric.h"

enum { PROBE_VOCAB = 11, PROBE_PENDING = 64 };

typedef struct Probe {
    Graph *g;
    Random random;
    Node *x;                      /* [tokens,dim] */
    Node *sum;                    /* of what the head has read; NULL */
    Node *pending[PROBE_PENDING]; /* flat values that the head has not read yet */
    int npending, params;
    int64_t elements; /* of those */
    int together;     /* values the head reads at once, at most */
} Probe;

Probe probe_new(uint64_t seed, int64_t dim, int together);
Shape probe_shape(int rank, const int64_t *dim); /* uniform */
Node *probe_param(Probe *p, Shape s);
Node *probe_stored(Probe *p,
                   Shape s); /* one value per token, a reshaped product: read from memory */
Node *probe_rows(Probe *p,
                 Shape s); /* one value per token, in [-1, 1], computed where it is read */
void probe_read(Probe *p, Node *y);
/* The finished graph: outputs logits, nll, cross_entropy, loss.  With 'more', a
** number, the loss is the cross entropy plus that; else it is the cross entropy. */
Graph *probe_end(Probe *p, Node *more);
Graph *probe_end_of(Probe *p, int64_t vocab, Node *more); /* with another vocabulary */

#endif
