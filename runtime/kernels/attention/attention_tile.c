/* SPDX-License-Identifier: MIT
** The micro-kernels of attention and the moves between rows and panels.
**
** tile_multiply() is the one inner loop: ROWS x 2 accumulators, each a single chain
** of multiply-adds in order of the inner index, whatever the tile's shape, so
** an element's bits don't depend on the tile it was computed in.
*/
#include "attention_tile.h"
#include "row_parts.h"
#include "transpose.h"

/* acc[i][c] += sum over n steps of a[i * row + step k] * b[k * ldb + c * LANES] */
INLINE void tile_multiply(const int rows, const int columns, int64_t n, const float *a, int64_t row,
                          int64_t step, const float *b, int64_t ldb, V acc[][2]) {
    for (int64_t k = 0; k < n; k++, a += step, b += ldb) {
        V x[2];
        UNROLL for (int c = 0; c < columns; c++) x[c] = v_load(b + c * LANES);
        UNROLL for (int i = 0; i < rows; i++) {
            V w = v_splat(a[i * row]);
            UNROLL for (int c = 0; c < columns; c++) acc[i][c] = v_fma(w, x[c], acc[i][c]);
        }
    }
}

INLINE void score_rows(const int rows, int64_t d, const float *k, int64_t ldk, const float *x,
                       float *s, float *largest) {
    V acc[ROWS][2];
    UNROLL for (int i = 0; i < rows; i++) acc[i][0] = acc[i][1] = v_zero();
    tile_multiply(rows, 2, d, k, ldk, 1, x, PANEL, acc);
    UNROLL for (int i = 0; i < rows; i++) {
        v_store(s + i * PANEL, acc[i][0]);
        v_store(s + i * PANEL + LANES, acc[i][1]);
    }
    if (!largest) return;
    UNROLL for (int c = 0; c < 2; c++) {
        V m = v_load(largest + c * LANES);
        UNROLL for (int i = 0; i < rows; i++) m = v_max(m, acc[i][c]);
        v_store(largest + c * LANES, m);
    }
}

void k_tile_score(int64_t keys, int64_t d, const float *k, int64_t ldk, const float *x, float *s,
                  float *largest) {
    int64_t parts = (keys + ROWS - 1) / ROWS;
    for (int64_t i = 0; i < parts; i++) {
        int64_t j = share(keys, parts, i);
        switch (share(keys, parts, i + 1) - j) {
#define SCORE_CASE(r) \
    case r: score_rows(r, d, k + j * ldk, ldk, x, s + j * PANEL, largest); break;
            ROW_CASES(SCORE_CASE)
        }
    }
}

INLINE void mix_rows(const int rows, int64_t keys, const float *v, int64_t ldv, const float *p,
                     const float *alpha, float *y) {
    V acc[ROWS][2];
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int c = 0; c < 2; c++)
        acc[i][c] = v_load(y + i * PANEL + c * LANES) * v_load(alpha + c * LANES);
    tile_multiply(rows, 2, keys, v, 1, ldv, p, PANEL, acc);
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int c = 0; c < 2; c++)
        v_store(y + i * PANEL + c * LANES, acc[i][c]);
}

void k_tile_mix(int64_t keys, int64_t d, const float *v, int64_t ldv, const float *p,
                const float *alpha, float *y) {
    int64_t parts = (d + ROWS - 1) / ROWS;
    for (int64_t i = 0; i < parts; i++) {
        int64_t e = share(d, parts, i);
        switch (share(d, parts, i + 1) - e) {
#define MIX_CASE(r) \
    case r: mix_rows(r, keys, v + e, ldv, p, alpha, y + e * PANEL); break;
            ROW_CASES(MIX_CASE)
        }
    }
}

/* 'part': the last column has fewer than LANES floats, or may have. */
INLINE void back_rows(const int rows, const int columns, const int part, int64_t from,
                      int64_t panels, const float *p, const float *x, int64_t ldx, float *y,
                      int64_t ldy, int64_t width) {
    V acc[ROWS][2];
    int64_t left = width - (columns - 1) * LANES;
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int c = 0; c < columns; c++)
        acc[i][c] = load_left(y + i * ldy + c * LANES, part && c == columns - 1 ? left : LANES);
    for (int64_t panel = from; panel < panels; panel++)
        tile_multiply(rows, columns, PANEL, p + panel * KEYS * PANEL, PANEL, 1,
                      x + panel * PANEL * ldx, ldx, acc);
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int c = 0; c < columns; c++)
        store_left(y + i * ldy + c * LANES, part && c == columns - 1 ? left : LANES, acc[i][c]);
}

/* Rows of y for one share of the keys, two vectors of columns at a time. */
static void back_columns(int64_t rows, int64_t d, int64_t from, int64_t panels, const float *p,
                         const float *x, float *y, int64_t ldy) {
    enum { TWO = 0, TWO_PART = 32, ONE_PART = 64 };
    int64_t ldx = padded(d);
    for (int64_t e = 0; e < d; e += 2 * LANES) {
        int64_t width = d - e;
        switch (rows + (width >= 2 * LANES ? TWO : width > LANES ? TWO_PART : ONE_PART)) {
#define BACK_CASE(r)                                                                              \
    case TWO + r: back_rows(r, 2, 0, from, panels, p, x + e, ldx, y + e, ldy, width); break;      \
    case TWO_PART + r: back_rows(r, 2, 1, from, panels, p, x + e, ldx, y + e, ldy, width); break; \
    case ONE_PART + r: back_rows(r, 1, 1, from, panels, p, x + e, ldx, y + e, ldy, width); break;
            ROW_CASES(BACK_CASE)
        }
    }
}

void k_tile_back(int64_t keys, int64_t d, int64_t panels, const int64_t *count, const float *p,
                 const float *x, float *y, int64_t ldy) {
    int64_t parts = (keys + ROWS - 1) / ROWS;
    for (int64_t i = 0; i < parts; i++) {
        int64_t j = share(keys, parts, i), from = 0;
        while (from < panels && count[from] <= j)
            from++;
        if (from < panels)
            back_columns(share(keys, parts, i + 1) - j, d, from, panels, p + j * PANEL, x,
                         y + j * ldy, ldy);
    }
}

void k_tile_mask(int64_t from, int64_t to, const int32_t *seen, float unit, float *s) {
    for (int c = 0; c < 2; c++) {
        VI sees = vi_load(seen + c * LANES);
        for (int64_t j = from; j < to; j++) {
            float *at = s + j * PANEL + c * LANES;
            v_store(at, v_select(sees > (int32_t)j, v_load(at) * unit, v_splat(-__builtin_inff())));
        }
    }
}

/* LANES numbers of a row from the e-th on, of d. */
INLINE V row_part(const RowKind kind, const float *row, int64_t e, int64_t d) {
    if (kind == ROWS_BF16) return v_load_bf16((const uint16_t *)row + e);
    return factor(kind == ROWS_ROUNDED, load_left(row + e, d - e));
}

INLINE void panel_load(const RowKind kind, int64_t n, int64_t d, const float *rows, int64_t ld,
                       float scale, float *panel) {
    for (int64_t first = 0; first < PANEL; first += LANES) {
        for (int64_t e = 0; e < d; e += LANES) {
            V r[LANES];
            UNROLL for (int i = 0; i < LANES; i++) r[i] = first + i < n
                ? row_part(kind, rows + (first + i) * ld, e, d) * scale
                : v_zero();
            transpose(r);
            UNROLL for (int i = 0; i < LANES; i++) if (e + i < d)
                v_store(panel + (e + i) * PANEL + first, r[i]);
        }
    }
}

void k_panel_load(RowKind kind, int64_t n, int64_t d, const float *rows, int64_t ld, float scale,
                  float *panel) {
    if (kind == ROWS_BF16) panel_load(ROWS_BF16, n, d, rows, ld, scale, panel);
    else if (kind == ROWS_ROUNDED) panel_load(ROWS_ROUNDED, n, d, rows, ld, scale, panel);
    else panel_load(ROWS_F32, n, d, rows, ld, scale, panel);
}

INLINE void panel_store(const int narrow, int64_t n, int64_t d, const float *panel,
                        const float *factor, float *rows, int64_t ld) {
    for (int64_t first = 0; first < n; first += LANES) {
        V f = v_load(factor + first);
        for (int64_t e = 0; e < d; e += LANES) {
            V r[LANES];
            UNROLL for (int i = 0; i < LANES; i++)
                r[i] = e + i < d ? v_load(panel + (e + i) * PANEL + first) * f : v_zero();
            transpose(r);
            UNROLL for (int i = 0; i < LANES; i++) if (first + i < n) {
                float *row = rows + (first + i) * ld;
                if (narrow) v_store_bf16((uint16_t *)row + e, r[i]);
                else store_left(row + e, d - e, r[i]);
            }
        }
    }
}

void k_panel_store(int narrow, int64_t n, int64_t d, const float *panel, const float *factor,
                   float *rows, int64_t ld) {
    if (narrow) panel_store(1, n, d, panel, factor, rows, ld);
    else panel_store(0, n, d, panel, factor, rows, ld);
}

INLINE void rows_load(const RowKind kind, int64_t n, int64_t d, const float *rows, int64_t ld,
                      float scale, float *out) {
    int64_t ldo = padded(d);
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e += LANES)
            v_store(out + t * ldo + e, row_part(kind, rows + t * ld, e, d) * scale);
}

void k_rows_load(RowKind kind, int64_t n, int64_t d, const float *rows, int64_t ld, float scale,
                 float *out) {
    if (kind == ROWS_BF16) rows_load(ROWS_BF16, n, d, rows, ld, scale, out);
    else if (kind == ROWS_ROUNDED) rows_load(ROWS_ROUNDED, n, d, rows, ld, scale, out);
    else rows_load(ROWS_F32, n, d, rows, ld, scale, out);
}

void k_rows_soon(int64_t n, int64_t d, const float *rows, int64_t ld) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e += 16)
            __builtin_prefetch(rows + t * ld + e, 0, 2);
}
