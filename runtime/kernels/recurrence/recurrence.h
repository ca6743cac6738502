/* SPDX-License-Identifier: MIT
** What forward and backward recurrences share: a chunk of 64 tokens of one head, as matrices of
** rows that are whole vectors, and products of these.
**
** With g summed within each block of 16 tokens, from the block's start up to a token (pre) or from
** it to the block's end (suf), e^(G_i - G_j) of tokens of different blocks is the product of
** e^pre_i, e^suf_j and what the blocks between decay by, none of which is above 1.  Within a block
** it is e^pre_i / e^pre_j; channels that decay by more than LIMIT in a block go pair by pair.
*/
#ifndef STRATA_KERNELS_RECURRENCE_H
#define STRATA_KERNELS_RECURRENCE_H

#include "kernels.h"
#include "scratch.h"

enum {
    CHUNK = 64, /* tokens; compiler/graph/recurrence.h knows it */
    BLOCK = 16,
    BLOCKS = CHUNK / BLOCK,
    WIDE = CHUNK + 16, /* floats between rows of a matrix of tokens by tokens */
    STEPS = 4          /* tokens, at most, that go one by one where there is a state */
};

/* A block's decay, as an exponent, up to which 1 / e^pre is a number like others; and the least
** power that is not taken for 0, so that products of some are no denormals. */
#define LIMIT 80.0f
#define LEAST 1e-35f

/* Floats of a row of d that are computed, and those from row to row: never a multiple of a page's
** part, or rows would share sets of the first-level cache. */
INLINE int64_t whole(int64_t d) { return (d + LANES - 1) / LANES * LANES; }
INLINE int64_t line(int64_t d) { return (d + 31) / 32 * 32 + 16; }

/* One head of a sequence. */
typedef struct HeadRows {
    int64_t row, count; /* the sequence's first row, how many */
    int64_t head, group;
} HeadRows;

HeadRows k_recurrence_head(const Recurrence *a, int64_t sequence, int64_t head);

/* A chunk.  Rows of dk and of dv are ldk and ldv floats apart, those of dk by dv too. */
typedef struct Chunk {
    int64_t ldk, ldv;
    int64_t first, count, blocks; /* its first token, tokens, blocks that these begin */
    float *q, *k, *v, *beta;      /* [CHUNK][dk], [CHUNK][dv], [CHUNK]; zeros after the last */
    float *g;                     /* [CHUNK][dk] */
    float *pre, *suf;             /* [CHUNK][dk]: e^.., 1 without decay */
    float *ipre;                  /* [CHUNK][dk]: 1 / pre; 0 where the block decays too much */
    int32_t slow[BLOCKS];         /* whether there are such channels in a block */
    float *before, *after;        /* [BLOCKS + 1][dk]: what blocks before, after one decay by */
    float *ql, *kl;               /* [CHUNK][dk]: q pre, k pre */
    float *kr;                    /* [CHUNK][dk]: k suf, times what blocks after it decay by */
    float *spare;                 /* [BLOCK][dk] */
    float *turned;                /* [dk][WIDE] */
    float *P, *A;                 /* [CHUNK][WIDE]: q k^T and k k^T, each times its decay; P to the
                                  ** diagonal, A below it; zeros above */
} Chunk;

int64_t k_chunk_floats(int64_t dk, int64_t dv);
Chunk k_chunk_room(const Recurrence *a, float **scratch);
/* Reads tokens first .. of the head; fills all but P and A. */
void k_chunk_load(const Recurrence *a, const HeadRows *h, int64_t first, Chunk *c);
/* Fills P, if wanted, and A, if there is a delta rule. */
void k_chunk_pairs(const Recurrence *a, Chunk *c, int outputs);
/* Sets what a token of a block may not see to 0: from the one after it on, or from itself. */
void k_chunk_cut(const Chunk *c, int64_t block, int diagonal, float *x);
/* The chunk's rows [CHUNK][d], zeros after its last token to the end of the block. */
void k_chunk_rows(const Chunk *c, int64_t d, const float *from, int64_t ld, float *to,
                  int64_t ldto);
/* ql and kl become q and k, times the decay since before the chunk. */
void k_chunk_since(const Recurrence *a, Chunk *c);
/* v becomes u of every token: v - kl S, less what tokens of the chunk before it put there, times
** beta; 'error' [CHUNK][dv], the same without beta, may be NULL.  Without a delta rule nothing. */
void k_chunk_solve(const Recurrence *a, Chunk *c, const float *S, float *error);
/* S = e^G S + kr^T u, of the whole chunk. */
void k_chunk_advance(const Recurrence *a, const Chunk *c, float *S);
/* S [dk][dv] of a head, from where a state is kept; NULL: 0; zeros in rows and columns beyond. */
void k_state_in(const Recurrence *a, const float *state, float *S);

/* c[rows][columns] = sum over steps of a[i * row + s * step] b[s * ldb + j], added to scale[i] c,
** or to c, if 'add'; or less the sum, if 'minus'.  'columns' is a multiple of LANES. */
typedef struct Product {
    int64_t rows, columns, steps;
    const float *a;
    int64_t row, step;
    const float *b;
    int64_t ldb;
    float *c;
    int64_t ldc;
    const float *scale;
    int add, minus;
} Product;

void k_product(const Product *p);

/* out[j][i] = in[i][j] of rows by columns, both rounded up to 16, where both have room. */
void k_turn(int64_t rows, int64_t columns, const float *in, int64_t ldin, float *out,
            int64_t ldout);
/* n rows of d floats to rows of whole vectors, zeros at the end; and back, set or added. */
void k_rows_in(int64_t n, int64_t d, const float *from, int64_t ld, float *to, int64_t ldto);
void k_rows_out(int64_t n, int64_t d, const float *from, int64_t ld, float *to, int64_t ldto,
                int add);
/* rows n of y times x[d], and a[n][d] times b */
void k_rows_scale(int64_t n, int64_t d, const float *x, float *y, int64_t ld);
void k_rows_multiply(int64_t n, int64_t d, const float *a, const float *b, float *y, int64_t ld);

/* Numbers of a head's decay, of each token, where they are read; and of those that it comes to. */
INLINE int64_t decays_of(const Recurrence *a) { return a->by_head || a->rate ? 1 : a->dk; }
INLINE int64_t channels_of(const Recurrence *a) { return a->by_head ? 1 : a->dk; }

/* Where the state of a head of a sequence lies, [dk][dv]. */
INLINE float *state_of(const Recurrence *a, int64_t sequence, int64_t head) {
    return (float *)((char *)a->states[sequence] + a->carried) + head * a->dk * a->dv;
}

/* recurrence_step.c: one head, token by token, in the state itself */
void k_recurrence_steps(const Recurrence *a, const HeadRows *h, float *state, float *scratch);
int64_t k_steps_floats(int64_t dk, int64_t dv);

/* recurrence_grad.c: a task of a sequence's, or of the sequences' of one sum of rates, is a part:
** the heads of as many groups as go together. */
INLINE float *drate_of(const Recurrence *a, int64_t sequence, int64_t head) {
    return a->drate + (sequence % a->sums * a->heads + head) * a->dk;
}
int64_t k_recurrence_grad_floats(int64_t dk, int64_t dv);

#endif
