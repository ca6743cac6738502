/* SPDX-License-Identifier: MIT
** The taps of a vector of columns (kernels.h, Convolution): those of a column lie side by side. */
#ifndef STRATA_TAPS_H
#define STRATA_TAPS_H

#include "history.h"

/* Columns first ... first+lanes-1, and where in a row's taps those of each begin. */
typedef struct TapColumns {
    int64_t first, lanes;
    int64_t offset[LANES]; /* beyond the last column: as its */
    int dense;             /* all lanes are there and have four taps of their own */
    int shared;            /* all have the same taps */
} TapColumns;

INLINE TapColumns tap_columns(const Convolution *c, int64_t first, int64_t end) {
    int64_t width = c->x.columns / c->groups, group = first / width, in = first - group * width;
    int64_t lanes = end - first < LANES ? end - first : LANES;
    TapColumns at = { .first = first, .lanes = lanes, .shared = in + lanes <= width };
    for (int64_t l = 0; at.shared && l < LANES; l++)
        at.offset[l] = group * c->taps;
    for (int64_t l = 0; width == 1 && l < LANES; l++)
        at.offset[l] = (first + (l < lanes ? l : lanes - 1)) * c->taps;
    for (int64_t l = 0; !at.shared && width > 1 && l < LANES; l++) {
        at.offset[l] = group * c->taps;
        if (l + 1 < at.lanes && ++in == width) in = 0, group++;
    }
    at.dense = width == 1 && at.lanes == LANES && c->taps == 4;
    return at;
}

INLINE V load_columns(const float *row, const TapColumns *at) {
    return at->lanes == LANES ? v_load(row + at->first) : v_load_part(row + at->first, at->lanes);
}

INLINE void store_columns(float *row, V x, const TapColumns *at) {
    if (at->lanes == LANES) v_store(row + at->first, x);
    else v_store_part(row + at->first, x, at->lanes);
}

/* One by one; a function, or each would be as many instructions as there are lanes. */
__attribute__((noinline, unused)) static V gather(const float *w, const int64_t *offset) {
    V x;
    for (int l = 0; l < LANES; l++)
        x[l] = w[offset[l]];
    return x;
}

INLINE V load_tap(const float *w, const TapColumns *at, int64_t j) {
    return at->shared ? v_splat(w[at->offset[0] + j]) : gather(w + j, at->offset);
}

#if LANES == 16
#define EVEN_(x, y) \
    __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD_(x, y) \
    __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define LOW_(x, y) \
    __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_(x, y) \
    __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif LANES == 8
#define EVEN_(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD_(x, y) __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15)
#define LOW_(x, y) __builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_(x, y) __builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define EVEN_(x, y) __builtin_shufflevector(x, y, 0, 2, 4, 6)
#define ODD_(x, y) __builtin_shufflevector(x, y, 1, 3, 5, 7)
#define LOW_(x, y) __builtin_shufflevector(x, y, 0, 4, 1, 5)
#define HIGH_(x, y) __builtin_shufflevector(x, y, 2, 6, 3, 7)
#endif

/* Taps j ... j+3. */
INLINE void load_four_taps(const float *w, const TapColumns *at, int64_t j, V *tap) {
    if (!at->dense) {
        for (int i = 0; i < 4; i++)
            tap[i] = load_tap(w, at, j + i);
        return;
    }
    const float *p = w + at->offset[0];
    V a = v_load(p), b = v_load(p + LANES), c = v_load(p + 2 * LANES), d = v_load(p + 3 * LANES);
    V even = EVEN_(a, b), odd = ODD_(a, b), later_even = EVEN_(c, d), later_odd = ODD_(c, d);
    tap[0] = EVEN_(even, later_even), tap[1] = EVEN_(odd, later_odd);
    tap[2] = ODD_(even, later_even), tap[3] = ODD_(odd, later_odd);
}

/* All four taps of dense columns. */
INLINE void store_four_taps(float *w, const TapColumns *at, const V *tap) {
    float *p = w + at->offset[0];
    V even = LOW_(tap[0], tap[2]), odd = LOW_(tap[1], tap[3]), later_even = HIGH_(tap[0], tap[2]),
      later_odd = HIGH_(tap[1], tap[3]);
    v_store(p, LOW_(even, odd)), v_store(p + LANES, HIGH_(even, odd));
    v_store(p + 2 * LANES, LOW_(later_even, later_odd)),
        v_store(p + 3 * LANES, HIGH_(later_even, later_odd));
}

#endif
