/* SPDX-License-Identifier: MIT
** How a product's right operand lies when it is packed whole, before the tasks that multiply by it
** or by the optimizer: blocks of columns one after another, in each its blocks of steps. The
** compiler plans the room with the same numbers that gemm.c and gemm_parts.c work with.
*/
#ifndef STRATA_PACKED_H
#define STRATA_PACKED_H

#include <stdint.h>

/* Steps of a block at most, and its columns. */
enum { STEPS_MAX = 256, BLOCK = 256 };
/* Rows of a matrix of weights that the optimizer packs at once: whole panels, whole tiles of
** steps. */
enum { PACK_ROWS = 32 };

/* Steps of each block but the last, at most 'most': about equal, a multiple of four, not 0. */
static inline int64_t equal_steps(int64_t steps, int64_t most) {
    int64_t blocks = steps > 0 ? (steps + most - 1) / most : 1;
    int64_t each = ((steps + blocks - 1) / blocks + 3) & ~(int64_t)3;
    return each > 0 ? each : 4;
}

static inline int64_t block_steps(int64_t steps) { return equal_steps(steps, STEPS_MAX); }

/* Floats between panels of kc steps: a cache line more than they need, so that
** writing all panels at one step does not meet in one cache set. */
static inline int64_t packed_panel(int64_t kc, int64_t panel) { return kc * panel + 16; }

/* Floats of a block of columns, at most BLOCK of them, over all steps. */
static inline int64_t packed_block(int64_t columns, int64_t steps, int64_t panel) {
    int64_t chunk = block_steps(steps), sum = 0;
    for (int64_t s = 0; s < steps || s == 0; s += chunk)
        sum += packed_panel(steps - s < chunk ? steps - s : chunk, panel);
    return (columns + panel - 1) / panel * sum;
}

/* The same of pairs of bfloat16 (bf16_dot.h), two steps in a float: blocks of steps, no more of
** them, end on whole tiles of 32 steps where there are tiles. */
static inline int64_t packed_pairs_block(int64_t columns, int64_t steps, int64_t panel) {
    int64_t blocks = steps > 0 ? (steps + STEPS_MAX - 1) / STEPS_MAX : 1,
            whole = steps > 0 ? (steps + 31) / 32 * 32 : 32;
    return (columns + panel - 1) / panel * (whole / 2 * panel + 16 * blocks);
}

/* The same of parts of float32 numbers (parts.h), whole units of as many columns as steps: these,
** and the floats of one, three bfloat16s for each of its numbers. */
enum { PARTS_UNIT = 32, PARTS_FLOATS = 3 * PARTS_UNIT * PARTS_UNIT / 2 };
static inline int64_t packed_parts_block(int64_t columns, int64_t steps, int64_t panel) {
    (void)panel;
    int64_t across = (columns + PARTS_UNIT - 1) / PARTS_UNIT,
            along = (steps + PARTS_UNIT - 1) / PARTS_UNIT;
    return across * along * PARTS_FLOATS;
}

/* What is packed: floats, pairs of bfloat16s, or parts of floats, where there are tiles. */
typedef enum Packing { PACKED_FLOATS, PACKED_PAIRS, PACKED_PARTS } Packing;

/* Floats of it all, a whole number of cache lines. */
static inline int64_t packed_floats(int64_t columns, int64_t steps, int64_t panel, Packing what) {
    int64_t (*room)(int64_t, int64_t, int64_t) = what == PACKED_PAIRS ? packed_pairs_block
        : what == PACKED_PARTS                                        ? packed_parts_block
                                                                      : packed_block;
    int64_t whole = columns / BLOCK, part = columns % BLOCK;
    int64_t floats = whole * room(BLOCK, steps, panel) + (part ? room(part, steps, panel) : 0);
    return (floats + 15) / 16 * 16;
}

#endif
