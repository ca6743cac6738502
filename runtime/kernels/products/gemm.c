/* SPDX-License-Identifier: MIT
** Matrix products: y = x w^T, dx = dy w and dw += dy^T x.
**
** All three are C[rows, columns] (+)= A B in blocks of STEPS_MAX steps of the
** summed axis and BLOCK columns, of dw WEIGHT_BLOCK.  A block of B is packed (pack.h) and stays in
** the second-level cache; MR rows of A at a time stay in the first level while
** the micro-kernel sweeps the panels of the block.  Within a block of steps an
** element of C is one chain of v_fma from zero; blocks are added to C in order.
** How steps fall into blocks depends on their number alone, and the chain of an
** element is the same in full tiles and at the edges, so its bits depend on its
** row of A, its column of B and the number of steps, nothing else.
*/
#include "kernels.h"

#if !STRATA_TILES
#include "gemm_tile.h"
#include "scratch.h"

/* Weight gradients: columns of A packed at once, as A is transposed, just before the first block of
** B that they are multiplied by; up to LEFT_ROWS of them stay packed for the other blocks of the
** same steps.  Blocks are wider where the second-level cache has room for them, 512 KiB. */
enum {
    GROUP = 8 * MR,
    LEFT_ROWS = (512 + GROUP - 1) / GROUP * GROUP,
    WEIGHT_BLOCK = LANES == 16 ? 2 * BLOCK : BLOCK
};
/* Rows that packing them asks for in advance. */
enum { LEFT_AHEAD = 8 };
enum {
    BLOCK_FLOATS = WEIGHT_BLOCK / PANEL * (STEPS_MAX * PANEL + 16),
    LEFT_FLOATS = LEFT_ROWS * STEPS_MAX
};

int64_t k_gemm_scratch(void) { return (BLOCK_FLOATS + LEFT_FLOATS) * (int64_t)sizeof(float); }

/* Columns [j, j + columns) and steps [s, s + steps) of B: one block of at most 'most' columns, none
** without columns. */
typedef struct BlockPart {
    int64_t j, s, columns, steps, most;
} BlockPart;

INLINE BlockPart part_at(int64_t columns, int64_t steps, int64_t j, int64_t s, int64_t most) {
    return (BlockPart){ j, s, min64(columns - j, most), min64(steps - s, block_steps(steps)),
                        most };
}

INLINE BlockPart part_first(int64_t columns, int64_t steps, int64_t most) {
    return part_at(columns, steps, 0, 0, most);
}

/* All steps of some columns, then the next columns. */
INLINE BlockPart part_after(BlockPart p, int64_t columns, int64_t steps) {
    return p.s + p.steps < steps ? part_at(columns, steps, p.j, p.s + p.steps, p.most)
                                 : part_at(columns, steps, p.j + p.most, 0, p.most);
}

/* Columns of rows that are packed next. */
INLINE Ahead rows_ahead(const float *at, int64_t ld, int64_t rows, int64_t columns) {
    return (Ahead){ (const char *)at, 4 * ld, rows, (columns + 15) / 16 };
}

/* The rows of A as they lie in memory, lda apart. Meanwhile 'then' arrives. */
NOINLINE void multiply_rows(int64_t rows, const float *a, int64_t lda, BlockPart b,
                            const float *block, float *c, int64_t ldc, int add, Ahead then) {
    Soon soon = { { nothing_ahead(), 0, 0, 0 },
                  asked_late(then, tiles_of(rows, b.columns), b.steps) };
    multiply(rows, b.steps, (Left){ a + b.s, lda, 1, MR * lda, &soon }, block, c + b.j, ldc,
             b.columns, add || b.s > 0);
}

/* The rows of A as pack_left packs them. */
NOINLINE void multiply_packed(int64_t rows, int64_t steps, const float *a, const float *block,
                              float *c, int64_t ldc, int64_t columns, int add, Soon *soon) {
    multiply(rows, steps, (Left){ a, 1, MR, MR * steps, soon }, block, c, ldc, columns, add);
}

void k_linear(int64_t n, int64_t m, int64_t k, const float *x, int64_t ldx, const float *w,
              int64_t ldw, float *y, int64_t ldy, int add, float *scratch) {
    for (BlockPart p = part_first(m, k, BLOCK), next; p.columns > 0; p = next) {
        next = part_after(p, m, k);
        pack_transposed(p.columns, p.steps, w + p.j * ldw + p.s, ldw, scratch, 0);
        multiply_rows(n, x, ldx, p, scratch, y, ldy, add,
                      rows_ahead(w + next.j * ldw + next.s, ldw, next.columns, next.steps));
    }
}

void k_linear_back(int64_t n, int64_t m, int64_t k, const float *dy, int64_t lddy, const float *w,
                   int64_t ldw, float *dx, int64_t lddx, int add, float *scratch) {
    for (BlockPart p = part_first(k, m, BLOCK), next; p.columns > 0; p = next) {
        next = part_after(p, k, m);
        pack_rows(p.columns, p.steps, w + p.s * ldw + p.j, ldw, scratch, 0);
        multiply_rows(n, dy, lddy, p, scratch, dx, lddx, add,
                      rows_ahead(w + next.s * ldw + next.j, ldw, next.steps, next.columns));
    }
}

/* == Packed whole ========================================================= */

INLINE int64_t part_floats(BlockPart p) {
    return (p.columns + PANEL - 1) / PANEL * panel_stride(p.steps);
}

void k_pack(int64_t columns, int64_t steps, const float *w, int64_t ldw, int back, int64_t block,
            float *packed) {
    packed += block * packed_block(BLOCK, steps, PANEL);
    for (BlockPart p = part_at(columns, steps, block * BLOCK, 0, BLOCK); p.j == block * BLOCK;
         p = part_after(p, columns, steps)) {
        if (back) pack_rows(p.columns, p.steps, w + p.s * ldw + p.j, ldw, packed, 0);
        else pack_transposed(p.columns, p.steps, w + p.j * ldw + p.s, ldw, packed, 0);
        packed += part_floats(p);
    }
}

void k_multiply(int64_t n, int64_t columns, int64_t steps, const float *x, int64_t ldx,
                const float *packed, float *y, int64_t ldy, int add) {
    for (BlockPart p = part_first(columns, steps, BLOCK), next; p.columns > 0; p = next) {
        const float *here = packed;
        next = part_after(p, columns, steps);
        packed += part_floats(p);
        multiply_rows(n, x, ldx, p, here, y, ldy, add,
                      packed_ahead(packed, next.columns > 0 ? part_floats(next) : 0));
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

/* What becomes of dy's columns: they are packed for one block of x only, or stay packed, or are
** since an earlier one. */
typedef enum LeftStay { LEFT_LEAVES, LEFT_STAYS, LEFT_STAYED } LeftStay;

/* dw[rows, columns] (+)= dy^T x over steps of one block, rows <= LEFT_ROWS; 'scratch' has x packed,
** and room for dy's columns.  Meanwhile the next group of them arrives, in the end that of the next
** block, and its x. */
INLINE void weight_block(int64_t steps, StepRows dy, int64_t rows, int64_t columns, float *dw,
                         int64_t lddw, int add, LeftStay stay, float *scratch, Ahead next_dy,
                         Ahead next_x) {
    float *group = scratch + BLOCK_FLOATS;
    Soon soon = { { nothing_ahead(), 0, 0, 0 },
                  asked_late(next_x, tiles_of(rows, columns), steps) };
    for (int64_t i = 0; i < rows; i += GROUP, group += stay ? GROUP * steps : 0) {
        int64_t here = min64(rows - i, GROUP), left = min64(rows - i - here, GROUP);
        if (stay != LEFT_STAYED) pack_left(here, steps, dy, i, group);
        Ahead soon_left = !left   ? next_dy
            : stay == LEFT_STAYED ? packed_ahead(group + GROUP * steps, left * steps)
            : dy.row              ? next_dy
                                  : rows_ahead(dy.at + i + here, dy.ld, steps, left);
        soon.left = asked_late(soon_left, tiles_of(here, columns), steps);
        multiply_packed(here, steps, group, scratch, dw + i * lddw, lddw, columns, add, &soon);
    }
}

/* Blocks of columns over the same steps, then the next steps; at last none. */
INLINE BlockPart block_after(BlockPart p, int64_t columns, int64_t steps) {
    int64_t j = p.j + p.columns, s = p.s + p.steps;
    return j < columns || s >= steps ? part_at(columns, steps, j, p.s, p.most)
                                     : part_at(columns, steps, 0, s, p.most);
}

/* Some of dw's rows, LEFT_ROWS at most. */
INLINE void weight_rows(int64_t n, int64_t rows, int64_t columns, const float *dy, int64_t lddy,
                        const float *x, int64_t ldx, float *dw, int64_t lddw, int add,
                        float *scratch) {
    for (BlockPart p = part_first(columns, n, WEIGHT_BLOCK), next; p.columns > 0; p = next) {
        next = block_after(p, columns, n);
        int64_t left = next.columns > 0 ? min64(rows, GROUP) : 0;
        pack_rows(p.columns, p.steps, x + p.s * ldx + p.j, ldx, scratch, 0);
        weight_block(p.steps, (StepRows){ dy + p.s * lddy, lddy, 0 }, rows, p.columns, dw + p.j,
                     lddw, add || p.s > 0,
                     p.j > 0                ? LEFT_STAYED
                         : columns > p.most ? LEFT_STAYS
                                            : LEFT_LEAVES,
                     scratch,
                     next.s == p.s ? packed_ahead(scratch + BLOCK_FLOATS, left * p.steps)
                                   : rows_ahead(dy + next.s * lddy, lddy, next.steps, left),
                     rows_ahead(x + next.s * ldx + next.j, ldx, next.steps, next.columns));
    }
}

void k_linear_weight(int64_t n, int64_t m0, int64_t m1, int64_t k0, int64_t k1, const float *dy,
                     int64_t lddy, const float *x, int64_t ldx, float *dw, int64_t lddw, int add,
                     float *scratch) {
    for (int64_t m = m0; m < m1; m += LEFT_ROWS)
        weight_rows(n, min64(m1 - m, LEFT_ROWS), k1 - k0, dy + m, lddy, x + k0, ldx,
                    dw + m * lddw + k0, lddw, add, scratch);
}

void k_linear_weight_at(int64_t steps, int64_t rows, int64_t columns, const float *const *dy,
                        const float *const *x, float *dw, int64_t lddw, int add, float *scratch) {
    pack_steps(columns, steps, (StepRows){ 0, 0, x }, scratch, 0);
    weight_block(steps, (StepRows){ 0, 0, dy }, rows, columns, dw, lddw, add, LEFT_LEAVES, scratch,
                 nothing_ahead(), nothing_ahead());
}
#endif
