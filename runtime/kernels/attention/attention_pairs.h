/* SPDX-License-Identifier: MIT
** What attention multiplies with where the processor multiplies pairs of bfloat16s
** (gemm_bf16.c).  A left operand has rows of steps, bfloat16, filled up with zeros to a
** multiple of PAIR_STEPS; a right one is a panel of PAIR_COLUMNS columns, each float a
** pair of steps of one column, or a block of such panels.
*/
#ifndef STRATA_ATTENTION_PAIRS_H
#define STRATA_ATTENTION_PAIRS_H

#include <stdint.h>

enum { PAIR_STEPS = 32, PAIR_COLUMNS = 32 };

/* Whole PAIR_ROWS rows cost no more than some of them. */
enum { PAIR_ROWS = STRATA_TILES ? 16 : 12 };

/* out[n][d up to a multiple of PAIR_STEPS] = rows[n][d], rounded */
void k_pairs_rows(int64_t n, int64_t d, const float *rows, int64_t ld, uint16_t *out);
/* The same of bfloat16s, whose rows are 'ld' floats apart; d is a multiple of PAIR_STEPS. */
void k_pairs_copy(int64_t n, int64_t d, const float *rows, int64_t ld, uint16_t *out);
/* panel[d / 2][PAIR_COLUMNS], pairs, from n <= PAIR_COLUMNS of such rows, zeros behind them */
void k_pairs_panel(int64_t n, int64_t d, const float *rows, int64_t ld, float *panel);
/* A block whose columns are those of 'steps' such rows, a multiple of PAIR_STEPS. */
void k_pairs_block_of(int64_t columns, int64_t steps, const float *rows, int64_t ld, float *out);
/* out[d][n up to a multiple] = the transpose of what k_pairs_rows made */
void k_pairs_turn(int64_t n, int64_t d, const uint16_t *rows, uint16_t *out);
/* A block from w[steps][columns], in so many floats. */
void k_pairs_block(int64_t columns, int64_t steps, const float *w, int64_t ldw, float *out);
int64_t k_pairs_block_floats(int64_t columns, int64_t steps);
/* What multiplies is the thread's own between them. */
void k_pairs_begin(void);
void k_pairs_end(void);
/* c[rows, columns] (+)= a[rows, steps] block, steps a multiple of PAIR_STEPS; 'spare':
** k_pairs_spare() floats */
void k_pairs_multiply(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                      const float *block, float *c, int64_t ldc, int64_t columns, int add,
                      float *spare);
int64_t k_pairs_spare(void);

#endif
