/* SPDX-License-Identifier: MIT
** A chunk of a recurrence on its way back: see recurrence_grad.c. */
#ifndef STRATA_RECURRENCE_BACK_H
#define STRATA_RECURRENCE_BACK_H

#include "recurrence.h"

typedef struct BackChunk {
    const Recurrence *a;
    int64_t sequence;
    HeadRows h;
    Chunk c;                     /* c.v: u */
    float *S, *dS;               /* [dk][dv], before the chunk; after it, then before it */
    float *error, *dout, *y, *z; /* [CHUNK][dv] */
    float *dq, *dkl, *dkr;       /* [CHUNK][dk]: of ql, kl, kr; then of q, and of k as either */
    float *dself;                /* [CHUNK][dk]: of k as what its own block's tokens see */
    float *turned_state;         /* [dv][dk] */
    float *turned_u;             /* [dv][WIDE] */
    float *dP, *dA;              /* [CHUNK][WIDE] */
    float *end;                  /* [dk]: gradient of the chunk's whole decay, as an exponent */
} BackChunk;

/* recurrence_back.c, in this order.  dP and dA of z and u; gradients of ql, kl and kr from the
** state, and 'end'; of ql and kl from dP and dA; of kr, after which ql and kl are since before the
** chunk; what all that gives for q, k and the decay, 'add': onto what is there of q and k. */
void k_back_pairs(BackChunk *x);
void k_back_states(BackChunk *x);
void k_back_rows(BackChunk *x);
void k_back_columns(BackChunk *x);
void k_back_close(BackChunk *x, int add);

#endif
