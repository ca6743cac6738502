/* SPDX-License-Identifier: MIT
** Choices among a token's own numbers.  The k-th largest is found bit by bit: a bit of its rank is
** set if at least k numbers rank as high.
*/
#include "kernels.h"
#include "vector.h"

/* Unsigned numbers in the order of floats; -0 is 0, and what is no number comes last. */
INLINE uint32_t rank_of(float x) {
    uint32_t bits;
    x = x == 0 ? 0.0f : x;
    __builtin_memcpy(&bits, &x, sizeof bits);
    uint32_t rank = bits >> 31 ? ~bits : bits | 0x80000000u;
    return x == x ? rank : 0;
}

/* How many of n numbers rank as high. */
INLINE int64_t ranked(int64_t n, const float *x, uint32_t rank) {
    int32_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += rank_of(x[i]) >= rank;
    return count;
}

static void largest_row(int64_t n, int64_t k, const float *x, float *mask) {
    uint32_t least = 0;
    for (uint32_t bit = 0x80000000u; bit; bit >>= 1)
        if (ranked(n, x, least | bit) >= k) least |= bit;
    int64_t equal = k - (least == UINT32_MAX ? 0 : ranked(n, x, least + 1));
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = rank_of(x[i]);
        mask[i] = r > least || (r == least && equal-- > 0) ? 1.0f : 0.0f;
    }
}

void k_largest(int64_t rows, int64_t n, int64_t k, const float *x, float *mask) {
    for (; rows > 0; rows--, x += n, mask += n)
        largest_row(n, k, x, mask);
}

void k_chosen(int64_t n, int64_t k, const float *mask, int32_t *place) {
    int64_t found = 0;
    for (int64_t i = 0; i < n && found < k; i++)
        if (mask[i] > 0) place[found++] = (int32_t)i;
    for (; found < k; found++)
        place[found] = -1;
}

void k_pick(int64_t k, const float *x, const int32_t *place, float *y) {
    for (int64_t i = 0; i < k; i++)
        y[i] = place[i] < 0 ? 0.0f : x[place[i]];
}

void k_place(int64_t n, int64_t k, const float *y, const int32_t *place, float *x) {
    k_zero(n, x);
    for (int64_t i = 0; i < k; i++)
        if (place[i] >= 0) x[place[i]] = y[i];
}
