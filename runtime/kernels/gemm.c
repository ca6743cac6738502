/* SPDX-License-Identifier: MIT
** Matrix products: y = x w^T, dx = dy w and dw += dy^T x.
**
** All three are C[rows, columns] (+)= A B in blocks of STEPS_MAX steps of the
** summed axis and BLOCK columns.  A block of B is packed (pack.h) and stays in
** the second-level cache; MR rows of A at a time stay in the first level while
** the micro-kernel sweeps the panels of the block.  Within a block of steps an
** element of C is one chain of v_fma from zero; blocks are added to C in order.
** How steps fall into blocks depends on their number alone, and the chain of an
** element is the same in full tiles and at the edges, so its bits depend on its
** row of A, its column of B and the number of steps, nothing else.
*/
#include "kernels.h"
#include "gemm_tile.h"

/* Columns of A packed at once where A is transposed (weight gradients). */
enum { GROUP = 8 * MR };
/* Rows that packing them asks for in advance. */
enum { LEFT_AHEAD = 8 };
enum { BLOCK_FLOATS = BLOCK / PANEL * (STEPS_MAX * PANEL + 16), GROUP_FLOATS = GROUP * STEPS_MAX };

int64_t k_gemm_scratch(void) { return (BLOCK_FLOATS + GROUP_FLOATS) * (int64_t)sizeof(float); }

/* The rows of A as they lie in memory, lda apart. */
NOINLINE void multiply_rows(int64_t rows, int64_t steps, const float *a, int64_t lda,
                            const float *block, float *c, int64_t ldc, int64_t columns, int add) {
    multiply(rows, steps, (Left){ a, lda, 1, MR * lda }, block, c, ldc, columns, add);
}

/* The rows of A as pack_left packs them. */
NOINLINE void multiply_packed(int64_t rows, int64_t steps, const float *a, const float *block,
                              float *c, int64_t ldc, int64_t columns, int add) {
    multiply(rows, steps, (Left){ a, 1, MR, MR * steps }, block, c, ldc, columns, add);
}

void k_linear(int64_t n, int64_t m, int64_t k, const float *x, int64_t ldx, const float *w,
              int64_t ldw, float *y, int64_t ldy, int add, float *scratch) {
    int64_t chunk = block_steps(k);
    for (int64_t j = 0; j < m; j += BLOCK) {
        int64_t columns = m - j < BLOCK ? m - j : BLOCK;
        for (int64_t s = 0; s < k || s == 0; s += chunk) {
            int64_t steps = k - s < chunk ? k - s : chunk;
            pack_transposed(columns, steps, w + j * ldw + s, ldw, scratch, 0);
            multiply_rows(n, steps, x + s, ldx, scratch, y + j, ldy, columns, add || s > 0);
        }
    }
}

void k_linear_back(int64_t n, int64_t m, int64_t k, const float *dy, int64_t lddy, const float *w,
                   int64_t ldw, float *dx, int64_t lddx, int add, float *scratch) {
    int64_t chunk = block_steps(m);
    for (int64_t j = 0; j < k; j += BLOCK) {
        int64_t columns = k - j < BLOCK ? k - j : BLOCK;
        for (int64_t s = 0; s < m || s == 0; s += chunk) {
            int64_t steps = m - s < chunk ? m - s : chunk;
            pack_rows(columns, steps, w + s * ldw + j, ldw, scratch, 0);
            multiply_rows(n, steps, dy + s, lddy, scratch, dx + j, lddx, columns, add || s > 0);
        }
    }
}

/* == Packed whole ========================================================= */

void k_pack(int64_t columns, int64_t steps, const float *w, int64_t ldw, int back, int64_t block,
            float *packed) {
    int64_t j = block * BLOCK, chunk = block_steps(steps);
    int64_t here = columns - j < BLOCK ? columns - j : BLOCK;
    packed += block * packed_block(BLOCK, steps, PANEL);
    for (int64_t s = 0; s < steps || s == 0; s += chunk) {
        int64_t part = steps - s < chunk ? steps - s : chunk;
        if (back) pack_rows(here, part, w + s * ldw + j, ldw, packed, 0);
        else pack_transposed(here, part, w + j * ldw + s, ldw, packed, 0);
        packed += (here + PANEL - 1) / PANEL * panel_stride(part);
    }
}

void k_multiply(int64_t n, int64_t columns, int64_t steps, const float *x, int64_t ldx,
                const float *packed, float *y, int64_t ldy, int add) {
    int64_t chunk = block_steps(steps);
    for (int64_t j = 0; j < columns; j += BLOCK) {
        int64_t here = columns - j < BLOCK ? columns - j : BLOCK;
        for (int64_t s = 0; s < steps || s == 0; s += chunk) {
            int64_t part = steps - s < chunk ? steps - s : chunk;
            multiply_rows(n, part, x + s, ldx, packed, y + j, ldy, here, add || s > 0);
            packed += (here + PANEL - 1) / PANEL * panel_stride(part);
        }
    }
}

NOINLINE void multiply_scattered(int64_t rows, int64_t steps, Scattered x, const float *packed,
                                 int64_t columns, int add) {
    multiply_at(rows, steps, x, packed, columns, add);
}

void k_multiply_at(int64_t n, int64_t columns, int64_t steps, const float *const *x,
                   const float *packed, float *const *y, int add) {
    multiply_scattered(n, steps, (Scattered){ x, y }, packed, columns, add);
}

/* == Weight gradients ===================================================== */

/* The transpose of columns [first, first + rows) of the steps' rows, in groups of MR of them: step
** after step. */
INLINE void pack_left(int64_t rows, int64_t steps, StepRows from, int64_t first, float *out) {
    int64_t whole = rows / MR, part = rows % MR;
    for (int64_t s = 0; s < steps; s++, out += MR) {
        const float *a = step_row(from, s) + first, *soon = step_row(from, s + LEFT_AHEAD) + first;
        for (int64_t r = 0; r < rows; r += 16) /* pieces of rows too short to be foreseen */
            __builtin_prefetch(soon + r);
        for (int64_t g = 0; g < whole; g++)
            __builtin_memcpy(out + g * MR * steps, a + g * MR, MR * sizeof(float));
        for (int64_t r = 0; r < part; r++)
            out[whole * MR * steps + r] = a[whole * MR + r];
    }
}

/* dw[rows, columns] (+)= dy^T x over steps of one block; 'scratch' has x packed, and has room. */
INLINE void weight_block(int64_t steps, StepRows dy, int64_t rows, int64_t columns, float *dw,
                         int64_t lddw, int add, float *scratch) {
    float *group = scratch + BLOCK_FLOATS;
    for (int64_t i = 0; i < rows; i += GROUP) {
        int64_t here = rows - i < GROUP ? rows - i : GROUP;
        pack_left(here, steps, dy, i, group);
        multiply_packed(here, steps, group, scratch, dw + i * lddw, lddw, columns, add);
    }
}

void k_linear_weight(int64_t n, int64_t m0, int64_t m1, int64_t k0, int64_t k1, const float *dy,
                     int64_t lddy, const float *x, int64_t ldx, float *dw, int64_t lddw, int add,
                     float *scratch) {
    int64_t chunk = block_steps(n);
    for (int64_t j = k0; j < k1; j += BLOCK) {
        int64_t columns = k1 - j < BLOCK ? k1 - j : BLOCK;
        for (int64_t s = 0; s < n || s == 0; s += chunk) {
            int64_t steps = n - s < chunk ? n - s : chunk;
            pack_rows(columns, steps, x + s * ldx + j, ldx, scratch, 0);
            weight_block(steps, (StepRows){ dy + s * lddy + m0, lddy, 0 }, m1 - m0, columns,
                         dw + m0 * lddw + j, lddw, add || s > 0, scratch);
        }
    }
}

void k_linear_weight_at(int64_t steps, int64_t rows, int64_t columns, const float *const *dy,
                        const float *const *x, float *dw, int64_t lddw, int add, float *scratch) {
    pack_steps(columns, steps, (StepRows){ 0, 0, x }, scratch, 0);
    weight_block(steps, (StepRows){ 0, 0, dy }, rows, columns, dw, lddw, add, scratch);
}
