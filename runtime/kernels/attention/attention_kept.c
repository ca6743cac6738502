/* SPDX-License-Identifier: MIT
** Rows as caches store them (kept_rows.h): how they are written, and how they are converted to
** floats.  Values that are rounded without being stored get the same bits.
*/
#include "attention_tile.h"
#include "f16.h"
#include "small_group.h"

_Static_assert((int)KEPT_GROUP == (int)GROUP, "caches and weights are rounded in the same groups");

enum { PARTS = GROUP / LANES };

typedef int8_t VB __attribute__((vector_size(LANES)));
typedef int8_t VBMem __attribute__((vector_size(LANES), aligned(1), may_alias));

/* == q8 =================================================================== */

/* The first n <= LANES numbers, or none, zeros behind them. */
INLINE V load_some(const float *x, int64_t n) { return n > 0 ? load_left(x, n) : v_zero(); }

/* Quotients x / scale to the nearest integers, of two as near the even one, at most 127 to each
** side.  A quotient of floats may be rounded onto the middle between two: what is left of x, which
** is exact, says on which side of it x lies. */
INLINE VI codes_of(V x, float scale) {
    const V magic = v_splat(12582912.0f); /* adding it rounds to an integer, in the lowest bits */
    V half = v_splat(scale * 0.5f);
    VI code = (VI)(x / scale + magic) - 0x4b400000;
    V left = x - v_to_float(code) * scale;
    code = code - (left > half) + (left < -half);
    return __builtin_elementwise_max(vi_splat(-127),
                                     __builtin_elementwise_min(vi_splat(127), code));
}

/* The codes of n numbers, at most GROUP, and their scale; where one is none or too large the scale
** is none or infinite, and so is what comes of it. */
INLINE uint16_t kept_round_q8(const float *x, int64_t n, VI code[PARTS]) {
    V part[PARTS];
    UNROLL for (int i = 0; i < PARTS; i++) part[i] = load_some(x + i * LANES, n - i * LANES);
    uint16_t half = f16_of(largest_of(part) / 127.0f);
    float scale = half_value((const uint8_t *)&half);
    UNROLL for (int i = 0; i < PARTS; i++) code[i] = scale > 0 ? codes_of(part[i], scale)
                                                               : vi_splat(0);
    return half;
}

INLINE void store_codes(int8_t *p, int64_t n, VI code) {
    VB narrow = __builtin_convertvector(code, VB);
    if (n >= LANES) *(VBMem *)p = narrow;
    else
        for (int l = 0; l < LANES - 1; l++)
            if (l < n) p[l] = narrow[l];
}

INLINE V load_codes(const int8_t *p, int64_t n) {
    VB narrow = { 0 };
    if (n >= LANES) narrow = *(const VBMem *)p;
    else
        for (int l = 0; l < LANES - 1; l++)
            narrow[l] = l < n ? p[l] : 0;
    return __builtin_convertvector(narrow, V);
}

static void keep_q8(int64_t d, const float *row, uint8_t *to) {
    int8_t *codes = (int8_t *)to + kept_scales(d);
    for (int64_t e = 0; e < d; e += GROUP) {
        VI code[PARTS];
        uint16_t scale = kept_round_q8(row + e, min64(GROUP, d - e), code);
        __builtin_memcpy(to + 2 * (e / GROUP), &scale, sizeof scale);
        UNROLL for (int i = 0; i < PARTS; i++) if (e + i * LANES < d)
            store_codes(codes + e + i * LANES, d - e - i * LANES, code[i]);
    }
}

INLINE void widen_q8(const int bf16, int64_t d, const uint8_t *row, float *out) {
    const int8_t *codes = (const int8_t *)row + kept_scales(d);
    for (int64_t e = 0; e < d; e += GROUP) {
        float scale = half_value(row + 2 * (e / GROUP));
        UNROLL for (int i = 0; i < PARTS; i++) {
            int64_t at = e + i * LANES;
            if (at < d) v_store(out + at, factor(bf16, load_codes(codes + at, d - at) * scale));
        }
    }
}

INLINE void again_q8(const int bf16, int64_t d, const float *row, float *out) {
    for (int64_t e = 0; e < d; e += GROUP) {
        VI code[PARTS];
        uint16_t half = kept_round_q8(row + e, min64(GROUP, d - e), code);
        float scale = half_value((const uint8_t *)&half);
        UNROLL for (int i = 0; i < PARTS; i++) if (e + i * LANES < d)
            v_store(out + e + i * LANES, factor(bf16, v_to_float(code[i]) * scale));
    }
}

/* == bfloat16 ============================================================= */

static void keep_bf16(int64_t d, const float *row, uint16_t *to) {
    for (int64_t e = 0; e < d; e += LANES) {
        VH narrow = v_narrow(load_left(row + e, d - e));
        if (d - e >= LANES) *(VHMem *)(to + e) = narrow;
        else
            for (int l = 0; l < LANES - 1; l++)
                if (l < d - e) to[e + l] = narrow[l];
    }
}

static void widen_bf16(int64_t d, const uint16_t *row, float *out) {
    for (int64_t e = 0; e < d; e += LANES)
        v_store(out + e, d - e >= LANES ? v_load_bf16(row + e) : v_load_bf16_part(row + e, d - e));
}

/* == Rows ================================================================= */

/* Nothing else writes what lies between the numbers of a row and its last float's end. */
void k_keep_rows(int kept, int64_t n, int64_t d, const float *rows, int64_t ld, float *to) {
    int64_t floats = kept_floats(kept, d);
    for (int64_t t = 0; t < n; t++, rows += ld, to += floats) {
        to[floats - 1] = 0;
        if (kept == KEPT_Q8) keep_q8(d, rows, (uint8_t *)to);
        else keep_bf16(d, rows, (uint16_t *)to);
    }
}

void k_kept_rows(int kept, int bf16, int64_t n, int64_t d, const float *rows, float *out) {
    int64_t floats = kept_floats(kept, d);
    for (int64_t t = 0; t < n; t++, rows += floats, out += padded(d)) {
        if (kept == KEPT_BF16) widen_bf16(d, (const uint16_t *)rows, out);
        else if (bf16) widen_q8(1, d, (const uint8_t *)rows, out);
        else widen_q8(0, d, (const uint8_t *)rows, out);
    }
}

void k_rows_as_kept(int kept, int bf16, int64_t n, int64_t d, const float *rows, int64_t ld,
                    float *out) {
    if (kept == KEPT_BF16) k_rows_load(1, n, d, rows, ld, 1.0f, out);
    for (int64_t t = 0; kept == KEPT_Q8 && t < n; t++, rows += ld, out += padded(d)) {
        if (bf16) again_q8(1, d, rows, out);
        else again_q8(0, d, rows, out);
    }
}
