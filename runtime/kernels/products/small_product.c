/* SPDX-License-Identifier: MIT
** Products with small weights (small_weights.h), for few rows and for many: x is rounded to 8 bits
** in groups of as many steps as the weights', a row's groups each with a scale of its own, and
** codes are multiplied as integers, exactly.
**
** An element is one chain of fused multiply-adds over the groups, in order: the sum of a group's
** products times both scales, and for q4 the group's smallest weight times the sum of its x. Rows
** and columns that are taken together change the loads, never that chain, so a row has the same
** bits wherever it lies, in decoding and in prefill, and for any width of vectors that can fuse.
**
** Lanes are columns. Codes of weights are 0 and more, those of x have signs; q8's are 128 too
** large, which a group's sum starts from: minus 128 times the sum of x's codes. Where the
** processor has no dot product of bytes, codes of x are kept as 16 bits, those of even steps apart
** from those of odd ones, and pairs of them are multiplied: nothing saturates.
*/
#include "small_dots.h"
#include "small_tiles.h"

/* Bytes of rounded rows that stay in a core's second-level cache. */
enum { ROUNDED_ROOM = 1 << 18 };

static int64_t rows_at_once(int64_t steps) {
    int64_t rows = ROUNDED_ROOM / (small_groups(steps) * (int64_t)sizeof(RoundedGroup));
    return rows < ROWS_UNIT ? ROWS_UNIT : rows / ROWS_UNIT * ROWS_UNIT;
}

static int64_t rounded_bytes(int64_t steps) {
    return rows_at_once(steps) * small_groups(steps) * (int64_t)sizeof(RoundedGroup);
}

/* Tiles have a panel's codes with signs behind the rows, on lines of 64 bytes. */
int64_t k_small_scratch(int64_t steps) {
    int64_t tiles = DOTS_OF_TILES ? CODE_LINE + small_groups(steps) * small_codes(8) : 0;
    return rounded_bytes(steps) + tiles;
}

/* == Rounding x =========================================================== */

/* Codes to words: bytes in the order of steps, or of each four the even ones and the odd ones. */
INLINE void put_codes(const int8_t *code, int32_t *word) {
#if DOTS_OF_BYTES
    __builtin_memcpy(word, code, GROUP);
#else
    for (int i = 0; i < GROUP; i += 2) {
        int32_t even = code[i / 4 * 4 + i % 4 / 2], odd = code[i / 4 * 4 + i % 4 / 2 + 2];
        word[i / 2] = (int32_t)((uint32_t)even & 0xffff) | (int32_t)((uint32_t)odd << 16);
    }
#endif
}

/* What is not above this becomes zeros: 127 / x must be finite. */
static const float LEAST = 1e-30f;

INLINE void round_group(const float *x, int bits, RoundedGroup *g) {
    /* adding it rounds to an integer, ties to even, in the lowest bits */
    const V magic = v_splat(12582912.0f);
    V part[GROUP / LANES];
    UNROLL for (int i = 0; i < GROUP / LANES; i++) part[i] = v_load(x + i * LANES);
    float most = largest_of(part), inverse = most <= LEAST ? 0 : 127.0f / most;
    int8_t code[GROUP];
    VI sums = { 0 };
    UNROLL for (int i = 0; i < GROUP; i += LANES) {
        VI value = (VI)(part[i / LANES] * v_splat(inverse) + magic) - 0x4b400000;
        sums += value;
        UNROLL for (int l = 0; l < LANES; l++) code[i + l] = (int8_t)value[l];
    }
    int32_t sum = 0;
    UNROLL for (int l = 0; l < LANES; l++) sum += sums[l];
    put_codes(code, g->code);
    g->scale = most <= LEAST ? 0 : most / 127.0f;
    if (bits == 8) g->start = -CODE_OF_ZERO * sum;
    else g->sum = g->scale * (float)sum;
}

/* A group's floats; of its last steps, zeros behind them. */
INLINE const float *load_group(SmallRows x, int64_t row, int64_t step, int64_t steps, float *own) {
    int64_t left = steps - step < GROUP ? steps - step : GROUP;
    if (!x.bf16 && left == GROUP) return x.floats + row * x.ld + step;
    for (int64_t i = 0; i < GROUP; i += LANES) {
        int64_t n = left - i < 0 ? 0 : left - i;
        const uint16_t *from = x.bf16 + row * x.ld + step + i;
        if (x.bf16) v_store(own + i, n >= LANES ? v_load_bf16(from) : v_load_bf16_part(from, n));
        else
            v_store(own + i,
                    n >= LANES ? v_load(x.floats + row * x.ld + step + i)
                               : v_load_part(x.floats + row * x.ld + step + i, n));
    }
    return own;
}

static void round_row(SmallRows x, int64_t row, int64_t steps, int bits, RoundedGroup *to) {
    float own[GROUP];
    for (int64_t s = 0; s < steps; s += GROUP)
        round_group(load_group(x, row, s, steps, own), bits, to++);
}

/* == Products ============================================================= */

#if !DOTS_OF_BYTES && !defined(SIMD_PAIRS_OF_16)
/* Of pairs of 16 bits, the sum of both products. */
INLINE VI vi_multiply_pairs(VI a, VI b) {
    VI low = ((VI)((VU)a << 16) >> 16) * ((VI)((VU)b << 16) >> 16);
    return low + (a >> 16) * (b >> 16);
}
#endif

/* sum + the products of four steps of each column; w: a byte each. */
INLINE VI add_dots(VI sum, VI w, const int32_t *code) {
#if DOTS_IN_LOOPS
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < 32; i += 8)
            sum[l] += (uint8_t)(w[l] >> i) * (int8_t)(*code >> i);
    return sum;
#elif DOTS_OF_BYTES
    return vi_dot_bytes(sum, w, vi_splat(*code));
#else
    VI even = w & 0x00ff00ff, odd = (VI)((VU)w >> 8) & 0x00ff00ff;
    return sum + vi_multiply_pairs(even, vi_splat(code[0]))
        + vi_multiply_pairs(odd, vi_splat(code[1]));
#endif
}

/* Asks for the same lines of the next panel: few rows wait for memory, and processors do not look
** ahead as far as that. */
INLINE void ask_for_next(int bits, Panel b) {
    int64_t next = b.groups * (small_codes(bits) + small_scales(bits));
    UNROLL for (int i = 0; i < GROUP / LINE_STEPS * bits / 8; i++)
        __builtin_prefetch(b.code + next + i * CODE_LINE, 0, 2);
    __builtin_prefetch(b.scale + next, 0, 2);
}

/* One group of LANES columns by 'rows' rows, each 'groups' further on. */
INLINE void add_group(int rows, int bits, Panel b, const RoundedGroup *x, V *sum) {
    VI dots[ROWS];
    if (rows < ROWS) ask_for_next(bits, b);
    UNROLL for (int r = 0; r < rows; r++) dots[r] = vi_splat(bits == 8 ? x[r * b.groups].start : 0);
    UNROLL for (int i = 0; i < LINES; i++) {
        VI w = code_line(bits, b.code, i);
        UNROLL for (int r = 0; r < rows; r++)
            dots[r] = add_dots(dots[r], w, x[r * b.groups].code + i * WORDS);
    }
    add_dot_products(rows, bits, b, x, dots, sum);
}

/* 'parts' vectors of columns, of which 'left' are wanted, by 'rows' rows. */
INLINE void tile(int rows, int parts, int bits, Panel b, const RoundedGroup *x, Result y,
                 int64_t left) {
    V sum[PARTS][ROWS];
    UNROLL for (int p = 0; p < parts; p++) UNROLL for (int r = 0; r < rows; r++)
        sum[p][r] = v_zero();
    for (int64_t g = 0; g < b.groups; g++) {
        UNROLL for (int p = 0; p < parts; p++) {
            Panel part = { b.code + g * small_codes(bits) + p * LANES * LINE_STEPS,
                           b.scale + g * small_scales(bits) + p * LANES * 2, b.groups };
            add_group(rows, bits, part, x + g, sum[p]);
        }
    }
    UNROLL for (int p = 0; p < parts; p++)
        UNROLL for (int r = 0; r < rows; r++) if (left > p * LANES)
            put_columns(y, r, p * LANES, left - p * LANES, sum[p][r]);
}

/* So many rows, if n has that bit. */
#define TILE(rows)                          \
    if (n & (rows)) {                       \
        tile(rows, 1, bits, b, x, y, left); \
        x += (rows) * b.groups;             \
        y = result_at(y, rows, 0);          \
    }

/* LANES columns by n rows; the panel comes from memory once, then from the caches. */
INLINE void product_all_rows(int64_t n, int bits, Panel b, const RoundedGroup *x, Result y,
                             int64_t left, uint8_t *code) {
    int64_t done = rows_in_tiles(n, bits, b, x, y, left, code);
    n -= done, x += done * b.groups, y = result_at(y, done, 0);
    for (; n >= ROWS; n -= ROWS, x += ROWS * b.groups, y = result_at(y, ROWS, 0))
        tile(ROWS, 1, bits, b, x, y, left);
#if LANES == 16
    TILE(8)
    TILE(4)
#endif
    TILE(2)
    TILE(1)
}
#undef TILE

/* Columns [m0,m1) by n rows; by one row all of a panel's columns together, in the order of
** memory. */
INLINE void all_columns(int64_t n, int64_t m0, int64_t m1, int bits, const SmallWeights *w,
                        const RoundedGroup *x, Result y, uint8_t *code) {
    int64_t groups = small_groups(w->steps), size = small_panel(w->steps, bits);
    for (int64_t m = m0, c; m < m1; m += n == 1 ? PANEL_COLUMNS : LANES) {
        const uint8_t *panel = w->at + m / PANEL_COLUMNS * size;
        c = m % PANEL_COLUMNS;
        Panel b = { panel + c * LINE_STEPS, panel + groups * small_codes(bits) + c * 2, groups };
        if (n == 1) tile(1, PARTS, bits, b, x, result_at(y, 0, m), m1 - m);
        else product_all_rows(n, bits, b, x, result_at(y, 0, m), m1 - m, code);
    }
}

NOINLINE void one_row_q8(int64_t m0, int64_t m1, const SmallWeights *w, const RoundedGroup *x,
                         Result y) {
    all_columns(1, m0, m1, 8, w, x, y, 0);
}

NOINLINE void one_row_q4(int64_t m0, int64_t m1, const SmallWeights *w, const RoundedGroup *x,
                         Result y) {
    all_columns(1, m0, m1, 4, w, x, y, 0);
}

void k_linear_small(int64_t n, int64_t m0, int64_t m1, SmallRows x, const SmallWeights *w, Result y,
                    float *scratch) {
    RoundedGroup *rounded = (RoundedGroup *)(void *)scratch;
    uint8_t *code = (uint8_t *)scratch + rounded_bytes(w->steps);
    int64_t groups = small_groups(w->steps), once = rows_at_once(w->steps);
    code += -(uintptr_t)code % CODE_LINE;
    for (int64_t i = 0; i < n; i += once, y = result_at(y, once, 0)) {
        int64_t rows = n - i < once ? n - i : once;
        for (int64_t r = 0; r < rows; r++)
            round_row(x, i + r, w->steps, w->bits, rounded + r * groups);
        if (rows == 1) (w->bits == 8 ? one_row_q8 : one_row_q4)(m0, m1, w, rounded, y);
        else if (w->bits == 8) all_columns(rows, m0, m1, 8, w, rounded, y, code);
        else all_columns(rows, m0, m1, 4, w, rounded, y, code);
    }
}

/* == Rows of a table ====================================================== */

/* The first d of a row's values; lanes are what lies side by side for no column, so one by one. */
static void read_row(int64_t d, int64_t row, const SmallWeights *w, float *y) {
    const uint8_t *panel = w->at + row / PANEL_COLUMNS * small_panel(w->steps, w->bits);
    int64_t column = row % PANEL_COLUMNS;
    for (int64_t s = 0; s < d; s++) {
        int upper;
        int64_t code = small_code_at(s, column, w->bits, &upper),
                at = small_scale_at(w->steps, s / GROUP, column, w->bits);
        int32_t byte = panel[code], q = upper ? byte >> 4 : byte & 15;
        float scale = half_value(panel + at);
        if (w->bits == 8) y[s] = scale * (float)(byte - CODE_OF_ZERO);
        else y[s] = s_fma(scale, (float)q, half_value(panel + at + 2 * PANEL_COLUMNS));
    }
}

void k_embed_small(int64_t n, const SmallWeights *w, const int32_t *ids, float *y, int64_t ldy) {
    for (int64_t t = 0; t < n; t++)
        read_row(w->steps, ids[t], w, y + t * ldy);
}
