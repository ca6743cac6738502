/* SPDX-License-Identifier: MIT
** Where keys and values of a task are: rows of the call, averages of these, or rows of caches; near
** copies of those that the micro-kernels cannot read where they lie.
*/
#include "attention_tile.h"
#include "row_parts.h"

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
