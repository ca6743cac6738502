/* SPDX-License-Identifier: MIT
** What products of bfloat16 share: the blocks that operands are cut into, room for
** them in a worker's scratch, and what multiplies them (gemm_bf16.c says which).
*/
#ifndef STRATA_GEMM_BF16_H
#define STRATA_GEMM_BF16_H

#include "kernels.h"
#include "gemm_tile.h"
#if STRATA_PAIRS
#include "bf16_dot.h"
#else
#include "widen.h"
#endif

/* Results that become bfloat16 add up in float32 first: SUM_ROWS of them where each block of steps
** is packed when its turn comes, SUM_ONCE where all are there. */
enum { BLOCK_ROOM = BLOCK / PANEL * (STEPS_MAX * PANEL + 16), SUM_ROWS = 256 };
enum { SUM_ROOM = SUM_ROWS * (BLOCK + 32) };
_Static_assert(SUM_ONCE <= SUM_ROWS, "there is room for them");
#if STRATA_PAIRS
_Static_assert(BLOCK_ROOM >= BLOCK / PANEL * (STEPS_PART / 2 * PANEL + 16), "and for a block");
_Static_assert(STEPS_PART % STEPS_UNIT == 0 && GROUP_MOST % GROUP_STEPS == 0,
               "parts are whole units: rooms are counted by them");
#endif

/* Steps of each block but the last: whole tiles. */
INLINE int64_t whole_steps(int64_t steps) {
    return (equal_steps(steps, STEPS_PART) + STEPS_UNIT - 1) / STEPS_UNIT * STEPS_UNIT;
}

/* From one packed block of columns to the next. */
INLINE int64_t block_floats(int64_t steps) {
    return STRATA_PAIRS ? packed_pairs_block(BLOCK, steps, PANEL)
                        : packed_block(BLOCK, steps, PANEL);
}

/* The same target for steps from s on, 'more' of which follow. */
INLINE BlockTarget part_of(BlockTarget y, int64_t s, int more) {
    y.add |= s > 0;
    if (more) y.bf16 = 0;
    return y;
}

#endif
