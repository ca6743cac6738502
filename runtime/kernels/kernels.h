/* SPDX-License-Identifier: MIT
** The kernel library: the contraction, sequence, loss and optimizer kernels
** that compiled models call.  Written in C with clang's vector extensions,
** compiled to LLVM bitcode when Strata is built, once for each vector width
** (LANES = 4, 8 or 16 floats), and linked into every model, where LLVM
** specialises it for the target's features.
**
** Rules for every function here.
**   - Freestanding: no library calls but memcpy, memmove, memset (the compiler
**     inserts those itself); no globals that are written; no allocation.
**   - Matrices are float32, row-major; 'ld*' is the distance between rows in
**     floats.  Pointers are 4-byte aligned only, of bfloat16s 2-byte, unless said otherwise.
**   - A row of a result has the same bits wherever it lies and whatever its
**     neighbours are: each element is one chain of fused multiply-adds in
**     order of k (KC blocks in order), in full tiles and at the edges alike.
**     Sums are in a fixed order.  No reassociation, no fast-math.
**   - 'scratch' is per worker, 64-byte aligned, floats as k_.._scratch of its kernel says.
*/
#ifndef STRATA_KERNELS_H
#define STRATA_KERNELS_H

#include <stdint.h>
#include <stddef.h>

#include "attention.h"
#include "processor.h"

/* Work space a worker needs for products, in bytes. */
int64_t k_gemm_scratch(void);

/* gemm.c, or where there are tiles gemm_parts.c */
/* y[n,m] = (add ? y : 0) + x[n,k] w[m,k]^T */
void k_linear(int64_t n, int64_t m, int64_t k, const float *x, int64_t ldx, const float *w,
              int64_t ldw, float *y, int64_t ldy, int add, float *scratch);
/* dx[n,k] = (add ? dx : 0) + dy[n,m] w[m,k] */
void k_linear_back(int64_t n, int64_t m, int64_t k, const float *dy, int64_t lddy, const float *w,
                   int64_t ldw, float *dx, int64_t lddx, int add, float *scratch);
/* The same products with the right operand packed before: 'columns' and 'steps' are m and k
** of k_linear, k and m of k_linear_back ('back').  k_pack packs BLOCK of its columns, those of
** number 'block' (packed.h); the bits of a result are those of k_linear and k_linear_back. */
void k_pack(int64_t columns, int64_t steps, const float *w, int64_t ldw, int back, int64_t block,
            float *packed);
void k_multiply(int64_t n, int64_t columns, int64_t steps, const float *x, int64_t ldx,
                const float *packed, float *y, int64_t ldy, int add);
/* dw[m,k] = (add ? dw : 0) + dy[n,m]^T x[n,k]: rows [m0,m1), columns [k0,k1) only; tokens in
** order */
void k_linear_weight(int64_t n, int64_t m0, int64_t m1, int64_t k0, int64_t k1, const float *dy,
                     int64_t lddy, const float *x, int64_t ldx, float *dw, int64_t lddw, int add,
                     float *scratch);
/* The same of rows that lie anywhere: of x and y, one block of columns and of steps (packed.h), and
** of dy and x, at most STEPS_MAX of them and BLOCK columns.  What is read, x and dy, is known
** ROWS_AHEAD rows further than there are: they are asked for. */
enum { ROWS_AHEAD = 12 };
void k_multiply_at(int64_t n, int64_t columns, int64_t steps, const float *const *x,
                   const float *packed, float *const *y, int add);
void k_linear_weight_at(int64_t steps, int64_t rows, int64_t columns, const float *const *dy,
                        const float *const *x, float *dw, int64_t lddw, int add, float *scratch);
/* Weights of a product of bfloat16: float32, to be rounded, or bfloat16; the other is NULL. */
typedef struct Weights {
    const float *floats;
    const uint16_t *bf16;
    int64_t ld;
} Weights;

/* A result: float32, added to what is there or not, or bfloat16, rounded from it; the other is
** NULL. */
typedef struct Result {
    float *floats;
    uint16_t *bf16;
    int64_t ld;
    int add;
} Result;

static inline Result result_at(Result y, int64_t row, int64_t column) {
    int64_t at = row * y.ld + column;
    return (Result){ y.floats ? y.floats + at : 0, y.bf16 ? y.bf16 + at : 0, y.ld, y.add };
}

/* gemm_bf16.c: the same products of bfloat16: x and dy are, w is or is rounded to it. 'ldx' and
** 'lddy' count bfloat16s; 'columns' and 'steps' as of k_pack; 'scratch' as of k_linear. */
int64_t k_gemm_bf16_scratch(void);
void k_linear_bf16(int64_t n, int64_t columns, int64_t steps, const uint16_t *x, int64_t ldx,
                   Weights w, int back, Result y, float *scratch);
void k_pack_bf16(int64_t columns, int64_t steps, Weights w, int back, int64_t block, float *packed,
                 float *scratch);
void k_multiply_bf16(int64_t n, int64_t columns, int64_t steps, const uint16_t *x, int64_t ldx,
                     const float *packed, Result y, float *scratch);
/* Rows [m0,m1) of w[M,K], at most PACK_ROWS, m0 a multiple of that, to their places in what
** k_pack_bf16 makes of w forward and backward; either may be NULL. */
void k_pack_rows_bf16(int64_t M, int64_t K, int64_t m0, int64_t m1, const float *w, float *forward,
                      float *back);
void k_linear_weight_bf16(int64_t n, int64_t m0, int64_t m1, int64_t k0, int64_t k1,
                          const uint16_t *dy, int64_t lddy, const uint16_t *x, int64_t ldx,
                          float *dw, int64_t lddw, int add, float *scratch);
/* gemv.c: few rows (decoding): columns [m0,m1) of y[n,m] = (add ? y : 0) + x w^T; each
** weight is read from memory once, at memory speed; a row's bits do not depend on n
** or on the split into [m0,m1), but are not those of k_linear.  'scratch' is k_few_scratch() bytes,
** or NULL, which is slower for many rows. */
void k_linear_few(int64_t n, int64_t m0, int64_t m1, int64_t k, const float *x, int64_t ldx,
                  const float *w, int64_t ldw, float *y, int64_t ldy, int add, float *scratch);
int64_t k_few_scratch(void);

/* The same of bfloat16: x is, w is rounded to it; or both are, which multiplies pairs of steps, in
** tiles where there are some. */
void k_linear_few_bf16(int64_t n, int64_t m0, int64_t m1, int64_t k, const uint16_t *x, int64_t ldx,
                       const float *w, int64_t ldw, Result y, float *scratch);
void k_linear_few_bf16_weights(int64_t n, int64_t m0, int64_t m1, int64_t k, const uint16_t *x,
                               int64_t ldx, const uint16_t *w, int64_t ldw, Result y,
                               float *scratch);

/* gemv_back.c: few rows: dx[n,k] = dy[n,m] w[m,k]; each weight is read from memory once; the bits
** of a row do not depend on n, but are not those of k_linear_back. */
void k_linear_back_few(int64_t n, int64_t m, int64_t k, const float *dy, int64_t lddy,
                       const float *w, int64_t ldw, float *dx, int64_t lddx);

/* Libraries of processors that multiply pairs of bfloat16s. */
#if PROCESSOR_PAIRS || defined(STRATA_TILES_IN_C) || defined(STRATA_PAIRS_IN_C)
#define STRATA_PAIRS 1
#else
#define STRATA_PAIRS 0
#endif

/* Of them, those that multiply in tiles. */
#if PROCESSOR_TILES || defined(STRATA_TILES_IN_C)
#define STRATA_TILES 1
#else
#define STRATA_TILES 0
#endif

/* How products of float32 have their right operand (packed.h). */
#define FLOATS_PACKED (STRATA_TILES ? PACKED_PARTS : PACKED_FLOATS)

/* history.c: operations whose past is of a fixed size */
/* Rows x of sequences, and the 'depth' rows before each, which its state carries: oldest first,
** without gaps; where there are no states, sequences begin and rows before them are 0. */
typedef struct History {
    int64_t sequences, time; /* 'time' rows of each, b * time + t */
    const int64_t *first;    /* if not NULL: those of sequence b are first[b] ... first[b+1]-1 */
    int64_t columns, depth;
    const float *x;
    int64_t ldx;
    void *const *states; /* NULL: none */
    int64_t carried;     /* bytes from a state's beginning to its carried rows */
} History;
/* y[r] = x of the row that is 'depth' before r in its sequence, or later; rows [r0,r1) */
void k_shift(const History *h, int earlier, int64_t r0, int64_t r1, float *y, int64_t ldy);

/* conv.c: causal convolution over the rows of sequences, a chain of fused multiply-adds in order of
** rows.  Taps w[groups][taps] are for columns / groups columns each, the last for the row itself;
** the same for all rows, or each row's own. */
typedef struct Convolution {
    History x; /* depth: taps - 1; of k_conv_back its rows are dy's, and nothing is carried */
    int64_t groups, taps;
    const float *w;
    int64_t ldw; /* from one row's taps to the next's; 0: all rows have the same */
} Convolution;
/* y[r] = sum over j of w[..][j] x[r - taps + 1 + j], rows [r0,r1) */
void k_conv(const Convolution *c, int64_t r0, int64_t r1, float *y, int64_t ldy);
/* dx[r] = sum over j of w[..][j] dy[r + taps - 1 - j], w of the row of dy */
void k_conv_back(const Convolution *c, int64_t r0, int64_t r1, float *dx, int64_t lddx);
/* conv_weight.c; w is not looked at.  dw[r] = the taps' gradients of each row. */
void k_conv_taps(const Convolution *c, const float *dy, int64_t lddy, int64_t r0, int64_t r1,
                 float *dw, int64_t lddw);
/* dw[groups][taps] (+)= their sums over all rows, in granules of so many, of groups [g0,g1) */
void k_conv_weight(const Convolution *c, const float *dy, int64_t lddy, int64_t granule, int64_t g0,
                   int64_t g1, float *dw, int add);

/* The last 'depth' rows of each sequence become those that its state carries: when nobody reads
** the old ones any more. */
void k_carry(const History *h);

/* recurrence.c: a state S [dk,dv] of each head and sequence; a token's S = e^decay S, S += k u^T,
** o = S^T q, with u = v or, where there is a beta, u = beta (v - S^T k) */
typedef struct Recurrence {
    int64_t sequences, time; /* rows b * time + t */
    /* if not NULL: rows of sequence b are first[b] ... first[b+1]-1 */
    const int64_t *first;
    /* heads of v and o; of q and k: head h uses that of number h / (heads / groups) */
    int32_t heads, groups, dk, dv;
    int32_t by_head;        /* one decay for all channels of a head */
    const float *q, *k, *v; /* [rows][groups * dk] twice, [rows][heads * dv] */
    /* [rows][heads * dk], by head [rows][heads]; [rows][heads]; NULL: there is none */
    const float *decay, *beta;
    /* [heads][dk]; if not NULL, 'decay' is by head, and each channel's is its product with this */
    const float *rate;
    int64_t ldq, ldk, ldv, lddecay, ldbeta;
    float *o; /* [rows][heads * dv] */
    int64_t ldo;
    /* if not NULL: sequences go on with their states [heads][dk][dv], so many bytes from what it
    ** points to on, and leave them there; else they begin with 0 */
    void *const *states;
    int64_t carried;
    /* backward only; gradients are overwritten */
    const float *dout;
    float *dq, *dk_, *dvalue, *ddecay, *dbeta;
    float *room; /* [rows][heads * ceil(dk * dv / 64)] */
    /* [sums][heads][dk]; of all sequences whose numbers, divided by 'sums', leave the sum's */
    float *drate;
    int32_t sums;
    int64_t lddout, lddq, lddk, lddv, ldddecay, lddbeta, ldroom;
} Recurrence;
/* Work space a worker needs, in bytes, for heads up to dk and dv; 'gradient': backward too. */
int64_t k_recurrence_scratch(int64_t dk, int64_t dv, int gradient);
int64_t k_recurrence_tasks(const Recurrence *a);
void k_recurrence(const Recurrence *a, int64_t task, float *scratch);
int64_t k_recurrence_grad_tasks(const Recurrence *a);
void k_recurrence_grad(const Recurrence *a, int64_t task, float *scratch);

/* loss.c: rows are tokens; logits [n,v] */
void k_cross_entropy(int64_t n, int64_t v, const float *logits, int64_t ld, const int32_t *ids,
                     float *nll, int64_t ldnll, float *lse, int64_t ldlse);
/* dlogits may be the same memory as logits; dy[t * lddy] */
void k_cross_entropy_grad(int64_t n, int64_t v, const float *logits, int64_t ld, const float *lse,
                          int64_t ldlse, const int32_t *ids, const float *dy, int64_t lddy,
                          float *dlogits, int64_t ldd);

/* embed.c */
void k_embed(int64_t n, int64_t d, const float *w, int64_t ldw, const int32_t *ids, float *y,
             int64_t ldy);
/* The same of a table of bfloat16s; ldw counts those. */
void k_embed_bf16(int64_t n, int64_t d, const uint16_t *w, int64_t ldw, const int32_t *ids,
                  float *y, int64_t ldy);
/* dw[ids[t], c] += dy[t, c] for columns [c0,c1), tokens in order, but for ids from 'rows' on */
void k_embed_weight(int64_t n, int64_t c0, int64_t c1, const float *dy, int64_t lddy,
                    const int32_t *ids, int64_t rows, float *dw, int64_t lddw);

/* lists.c */
/* Some tokens of a call: one per row, in order. */
typedef struct RowList {
    int64_t count, longest;    /* rows; of one sequence, at most */
    int64_t *first;            /* [sequences + 1]: a sequence's first row */
    int32_t *token, *position; /* [rows] */
    int32_t *order;            /* [rows]: tokens of the sequence up to the row's, that one too */
    int32_t *place;            /* [tokens]: the row; -1: none */
    int32_t *before;           /* [tokens]: rows of the sequence up to the token, its own too */
} RowList;
/* The tokens b * time + t whose mask[token * ld] is above 0 or, if 'forced' is not 0, forced - 1 of
** a million positions, evenly spaced; the arrays are the caller's. */
void k_list_make(int64_t sequences, int64_t time, const float *mask, int64_t ld,
                 const int32_t *position, int64_t forced, RowList *l);
/* mask is 1 at the k largest of n numbers x[i * ldx], the first of equal ones, else 0; 1 <= k <=
** n */
void k_top(int64_t n, int64_t k, const float *x, int64_t ldx, float *mask, int64_t ldm);
/* y[n][d]: rows place[t] of x, 0 where that is -1 */
void k_scatter_rows(int64_t n, int64_t d, const float *x, int64_t ldx, const int32_t *place,
                    float *y, int64_t ldy);

/* largest.c: choices among a token's own numbers */
/* mask is 1 at the k largest of each of 'rows' rows of n numbers, the first of equal ones, else 0;
** what is no number comes last; 1 <= k <= n */
void k_largest(int64_t rows, int64_t n, int64_t k, const float *x, float *mask);
/* The places of the first k of n numbers that are above 0; -1 where there are fewer */
void k_chosen(int64_t n, int64_t k, const float *mask, int32_t *place);
/* y[k]: the numbers of x at the places, 0 at -1 */
void k_pick(int64_t k, const float *x, const int32_t *place, float *y);
/* x[n]: y's numbers at the places, but for -1, and 0 elsewhere */
void k_place(int64_t n, int64_t k, const float *y, const int32_t *place, float *x);

/* experts.c: each token has 'slots' choices of an expert; slot t * slots + i is the i-th of token
** t. 'order' has all slots by expert, those of expert e from first[e] on, and those that chose
** nothing from first[experts] on. */
typedef struct Experts {
    int64_t tokens, slots, experts;
    const int32_t *order, *first;
    int32_t bf16; /* operands by slot are bfloat16, weights are rounded to it */
} Experts;

/* An operand by slot, counted in its numbers: rows of tokens 'ld' apart, those of a token's slots
** 'each', 0 if they share one. */
typedef struct SlotRows {
    const void *at;
    int64_t ld, each;
} SlotRows;

/* y of a slot = x w_e^T, or x w_e if 'back', all of them overwritten; 0 of those that chose
** nothing. w has a matrix of 'columns' rows and 'steps' columns for each expert, or the other way
** round if 'back'. */
typedef struct ExpertProduct {
    Experts experts;
    SlotRows x;
    Weights w; /* 'ld' is not looked at */
    int64_t columns, steps;
    int32_t back;
    float *y; /* [tokens][slots * columns] */
    int64_t ldy;
    const uint8_t
        *small; /* small weights (small_product.h), of 'bits' each, instead of w; NULL: none */
    int bits;
} ExpertProduct;

/* dw_e = (add ? dw_e : 0) + the sum of dy^T x over the slots of e, in order */
typedef struct ExpertOuter {
    Experts experts;
    SlotRows dy, x;
    float *dw; /* [experts][rows][columns] */
    int64_t rows, columns;
    int32_t add;
} ExpertOuter;

int64_t k_expert_scratch(void); /* bytes */
/* place[t * ld + i]: of slot i of token t, an expert or -1; order [tokens * slots], first [experts
** + 1] */
void k_expert_lists(int64_t tokens, int64_t slots, const int32_t *place, int64_t ld,
                    int64_t experts, int32_t *order, int32_t *first);
int64_t k_expert_tasks(const Experts *x, int64_t columns);
void k_expert_product(const ExpertProduct *p, int64_t task, float *scratch);
/* The same tasks for few tokens (decoding), forward, as k_linear_few. */
void k_expert_few(const ExpertProduct *p, int64_t task, float *scratch);
int64_t k_expert_weight_tasks(const ExpertOuter *p);
void k_expert_weight(const ExpertOuter *p, int64_t task, float *scratch);

/* optimizer.c */
/* p (1 - lr wd), then AdamW with bias corrections c1 = 1 - beta1^step, c2 = 1 - beta2^step;
** g is multiplied by grad_scale as it is read */
void k_adamw(int64_t n, float *p, const float *g, float *m, float *v, float lr, float beta1,
             float beta2, float eps, float weight_decay, float c1, float c2, float grad_scale);
/* sum of squares in double, fixed order that depends on n only */
double k_sum_squares(int64_t n, const float *g);
/* out[i] (+)= sum over r < rows of part[r * ld + i], r in order */
void k_reduce_rows(int64_t rows, int64_t n, const float *part, int64_t ld, float *out, int add);
void k_zero(int64_t n, float *p);

/* muon.c */
/* m += (1 - momentum) (grad_scale g - m); direction: m, or if 'nesterov' grad_scale g moved to it
** by 'momentum' of the way */
void k_muon_momentum(int64_t n, const float *g, float grad_scale, float momentum, int nesterov,
                     float *m, float *direction);
void k_muon_mix(int64_t n, float a, const float *x, float b, float *y); /* y = a x + b y */
/* p = keep p - rate x */
void k_muon_step(int64_t n, float *p, const float *x, float keep, float rate);
/* y[columns, rows] = the transpose of x[rows, columns]: rows first ... first + count - 1 of y */
void k_transpose(int64_t first, int64_t count, int64_t rows, int64_t columns, const float *x,
                 float *y);

/* rope_tables.c: table[position * ld + i] = scale * cos or sin(position * frequency[i]),
** computed in double: no libm */
void k_wave(int64_t first, int64_t positions, int64_t n, const double *frequency, double scale,
            int sine, float *table, int64_t ld);

/* math.c, used by the kernels and by generated row kernels' tests; static inline
** vector versions are in vector.h */
#endif
