/* SPDX-License-Identifier: MIT
** Lists of rows: which tokens of a call a layer works on (kernels.h, RowList), and
** the tokens with the largest numbers of a sequence.
*/
#include "kernels.h"
#include "vector.h"

/* Whether a position is one of so many millionths of all. */
static int evenly(int64_t position, int64_t millionths) {
    return (position + 1) * millionths / 1000000 > position * millionths / 1000000;
}

void k_list_make(int64_t sequences, int64_t time, const float *mask, int64_t ld,
                 const int32_t *position, int64_t forced, RowList *l) {
    l->count = l->longest = 0;
    for (int64_t b = 0; b < sequences; b++) {
        int64_t first = l->first[b] = l->count;
        for (int64_t t = 0; t < time; t++) {
            int64_t token = b * time + t;
            l->place[token] = -1;
            if (forced ? evenly(position[token], forced - 1) : mask[token * ld] > 0) {
                l->token[l->count] = (int32_t)token;
                l->position[l->count] = position[token];
                l->order[l->count] = (int32_t)t + 1;
                l->place[token] = (int32_t)l->count++;
            }
            l->before[token] = (int32_t)(l->count - first);
        }
        if (l->count - first > l->longest) l->longest = l->count - first;
    }
    l->first[sequences] = l->count;
}

/* Unsigned numbers in the order of floats; -0 is 0. */
static uint32_t rank_of(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    if (bits == 0x80000000u) bits = 0;
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* The k-th largest rank, found digit by digit; *equal: how many of those that have it are among the
** k. */
static uint32_t kth_rank(int64_t n, int64_t k, const float *x, int64_t ld, int64_t *equal) {
    uint32_t found = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        int64_t count[256] = { 0 };
        uint32_t above = shift == 24 ? 0 : ~0u << (shift + 8);
        int digit = 255;
        for (int64_t i = 0; i < n; i++) {
            uint32_t r = rank_of(x[i * ld]);
            if ((r & above) == found) count[r >> shift & 255]++;
        }
        for (; k > count[digit]; digit--)
            k -= count[digit];
        found |= (uint32_t)digit << shift;
    }
    *equal = k;
    return found;
}

void k_top(int64_t n, int64_t k, const float *x, int64_t ldx, float *mask, int64_t ldm) {
    int64_t equal;
    uint32_t least = kth_rank(n, k, x, ldx, &equal);
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = rank_of(x[i * ldx]);
        mask[i * ldm] = r > least || (r == least && equal-- > 0) ? 1.0f : 0.0f;
    }
}

void k_scatter_rows(int64_t n, int64_t d, const float *x, int64_t ldx, const int32_t *place,
                    float *y, int64_t ldy) {
    for (int64_t t = 0; t < n; t++, y += ldy) {
        const float *from = x + place[t] * ldx;
        int64_t c = 0;
        for (; c + LANES <= d; c += LANES)
            v_store(y + c, place[t] < 0 ? v_zero() : v_load(from + c));
        if (c < d)
            v_store_part(y + c, place[t] < 0 ? v_zero() : v_load_part(from + c, d - c), d - c);
    }
}
