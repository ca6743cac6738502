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

static const float *rows_near(const Attention *a, const KeySource *s, int64_t n, int64_t d,
                              const float *rows, int64_t *ld, float *copy) {
    if (!s->kept && !a->rounded && ((*ld == d && s->ready) || in_pairs(a))) return rows;
    k_rows_soon(n, s->kept ? *ld : row_floats(a, d), rows + n * *ld, *ld);
    if (s->kept) k_kept_rows(s->kept, a->bf16, n, d, rows, copy);
    else if (a->rounded) k_rows_as_kept(a->rounded, a->bf16, n, d, rows, *ld, copy);
    else k_rows_load(row_kind(a), n, d, rows, *ld, 1.0f, copy);
    *ld = padded(d);
    return copy;
}

/* Positions *from..*to-1 of a sequence make its j-th average. */
static void pool_range(const Attention *a, int64_t j, int64_t *from, int64_t *to) {
    *from = a->causal ? j * a->pool : j * a->time / a->pool;
    *to = a->causal ? (j + 1) * a->pool : ((j + 1) * a->time + a->pool - 1) / a->pool;
}

const float *k_source_near(const Attention *a, const KeySource *s, int64_t first, int64_t n,
                           int64_t d, const float *rows, int64_t *ld, float *copy) {
    if (!s->pooled) return rows_near(a, s, n, d, rows + first * *ld, ld, copy);
    for (int64_t j = 0; j < n; j++) {
        int64_t from, to;
        pool_range(a, first + j, &from, &to);
        for (int64_t e = 0; e < d; e += LANES) {
            V sum = load_left(rows + from * *ld + e, d - e);
            for (int64_t t = from + 1; t < to; t++)
                sum += load_left(rows + t * *ld + e, d - e);
            v_store(copy + j * padded(d) + e, factor(rounds(a), sum * (1.0f / (float)(to - from))));
        }
    }
    *ld = padded(d);
    return copy;
}

void k_pool_back(const Attention *a, int64_t first, int64_t n, int64_t d, const float *average,
                 float *rows, int64_t ld) {
    for (int64_t j = 0; j < n; j++) {
        int64_t from, to;
        pool_range(a, first + j, &from, &to);
        float share = 1.0f / (float)(to - from);
        for (int64_t t = from; t < to; t++)
            for (int64_t e = 0; e < d; e += LANES) {
                float *at = rows + t * ld + e;
                V x = v_load(average + j * padded(d) + e);
                store_left(at, d - e, v_fma(x, v_splat(share), load_left(at, d - e)));
            }
    }
}

/* How many averages there are of 'time' positions; unfinished chunks don't count. */
static int64_t pool_count(const Attention *a, int64_t time) {
    return a->causal ? time / a->pool : a->pool;
}

/* A cache of keys that values are channels of, or that is a ring. */
static void shape_source(const Attention *a, int64_t b, int64_t g, KeySource *s) {
    if (a->share) s->v = s->k, s->ldv = s->ldk;
    s->ring = a->ring;
    s->own_k = a->k + key_row(a, b) * a->ldk + g * a->dk;
    s->own_v = a->v + key_row(a, b) * a->ldv + g * (a->share ? a->dk : a->dv);
}

NearRows k_rows_near(const Attention *a, const KeySource *s, int64_t at, int64_t n, float *copy_k,
                     float *copy_v) {
    NearRows x = { 0, 0, s->ldk, s->ldv };
    x.k = k_source_near(a, s, at, n, a->dk, s->k, &x.ldk, copy_k);
    if (a->share) x.v = x.k, x.ldv = x.ldk;
    else x.v = k_source_near(a, s, at, n, a->dv, s->v, &x.ldv, copy_v);
    return x;
}

NearRows k_keys_near(const Attention *a, const KeySource *s, int64_t first, int64_t n,
                     float *copy_k, float *copy_v) {
    if (!s->ring || first < s->past) return k_rows_near(a, s, slot_of(s, first), n, copy_k, copy_v);
    KeySource own = { .k = s->own_k, .v = s->own_v, .ldk = a->ldk, .ldv = a->ldv };
    own.ready = !a->bf16;
    return k_rows_near(a, &own, first - s->past, n, copy_k, copy_v);
}

KeySource k_attention_source(const Attention *a, int64_t b, int64_t g) {
    if (a->keys) {
        int64_t ldk = kept_floats(a->kept, a->dk), ldv = kept_floats(a->kept, a->dv);
        KeySource cached = { a->keys[b] + g * a->context * ldk,
                             a->values[b] + g * a->context * ldv,
                             ldk,
                             ldv,
                             a->kept,
                             a->past[b],
                             a->past[b] + keys_of(a, b),
                             0,
                             1,
                             a->sees ? a->sees + query_row(a, b) : 0,
                             0,
                             0,
                             0 };
        if (a->shaped) shape_source(a, b, g, &cached);
        if (a->pool) cached.count = pool_count(a, cached.count);
        return cached;
    }
    int64_t row = key_row(a, b);
    KeySource rows = { a->k + row * a->ldk + g * row_floats(a, a->dk),
                       a->v + row * a->ldv + g * row_floats(a, a->share ? a->dk : a->dv),
                       a->ldk,
                       a->ldv,
                       KEPT_F32,
                       0,
                       a->pool ? pool_count(a, a->time) : keys_of(a, b),
                       a->pool != 0,
                       !a->bf16,
                       a->sees ? a->sees + query_row(a, b) : 0,
                       0,
                       0,
                       0 };
    return rows;
}
