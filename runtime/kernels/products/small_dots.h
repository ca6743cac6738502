/* SPDX-License-Identifier: MIT
** Shared by products with small weights: rounded rows, panels of codes, and the order in which a
** group's dot products are added, whatever computes them (small_product.c, small_tiles.h).
*/
#ifndef STRATA_SMALL_DOTS_H
#define STRATA_SMALL_DOTS_H

#include "results.h"
#include "small_group.h"
#include "small_product.h"

/* STRATA_DOTS_IN_C: loops in an instruction's place; tests of what uses it run anywhere. */
#if defined(STRATA_DOTS_IN_C) || defined(STRATA_TILES_IN_C)
#define DOTS_IN_LOOPS 1
#else
#define DOTS_IN_LOOPS 0
#endif
#if DOTS_IN_LOOPS || PROCESSOR_BYTE_DOTS
#define DOTS_OF_BYTES 1
#else
#define DOTS_OF_BYTES 0
#endif
#if PROCESSOR_BYTE_TILES || defined(STRATA_TILES_IN_C)
#define DOTS_OF_TILES 1
#else
#define DOTS_OF_TILES 0
#endif

/* Words of codes for LINE_STEPS steps of x; vectors of a panel's columns; rows at a time. */
enum { WORDS = DOTS_OF_BYTES ? 1 : 2, PARTS = PANEL_COLUMNS / LANES, ROWS = LANES == 16 ? 12 : 4 };
enum { GROUP_WORDS = GROUP / LINE_STEPS * WORDS };

/* A group of a row of x, rounded. */
typedef struct RoundedGroup {
    int32_t code[GROUP_WORDS];
    float scale; /* x = scale * code */
    union {
        int32_t start; /* q8: -128 times the sum of codes */
        float sum;     /* q4: the sum of x */
    };
} RoundedGroup;

INLINE VI load_line(const uint8_t *p) { return vi_load((const int32_t *)(const void *)p); }

/* A panel from one of its columns on. */
typedef struct Panel {
    const uint8_t *code, *scale;
    int64_t groups;
} Panel;

enum { LINES = GROUP / LINE_STEPS };

/* Line i of a group's codes, as q8 has them. */
INLINE VI code_line(int bits, const uint8_t *code, int i) {
    VI w = load_line(code + (bits == 8 ? i : i % (LINES / 2)) * CODE_LINE);
    return bits == 8 ? w : (i < LINES / 2 ? w : (VI)((VU)w >> 4)) & 0x0f0f0f0f;
}

/* sum += what a group's dot products, and of q4 its smallest weights, come to. */
INLINE void add_dot_products(int rows, int bits, Panel b, const RoundedGroup *x, const VI *dots,
                             V *sum) {
    V scale = load_half(b.scale);
    UNROLL for (int r = 0; r < rows; r++)
        sum[r] = v_fma(v_to_float(dots[r]), scale * v_splat(x[r * b.groups].scale), sum[r]);
    if (bits == 8) return;
    V least = load_half(b.scale + PANEL_COLUMNS * 2);
    UNROLL for (int r = 0; r < rows; r++)
        sum[r] = v_fma(least, v_splat(x[r * b.groups].sum), sum[r]);
}

#endif
