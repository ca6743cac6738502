/* SPDX-License-Identifier: MIT
** Rows of new keys and values become rows of caches. */
#include "attention_tile.h"

/* What a cache keeps of a finished row. */
INLINE float cache_kept(const int bf16, float x) { return factor(bf16, v_splat(x))[0]; }

INLINE void copy_rows(const int bf16, int64_t n, int64_t d, const float *from, int64_t ld,
                      float *to) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e++)
            to[t * d + e] = cache_kept(bf16, from[t * ld + e]);
}

static void keep_rows(const Attention *a, int64_t n, int64_t d, const float *from, int64_t ld,
                      float *to) {
    if (a->kept) k_keep_rows(a->kept, n, d, from, ld, to);
    else if (a->bf16) copy_rows(1, n, d, from, ld, to);
    else copy_rows(0, n, d, from, ld, to);
}

/* Rows of positions from 'past' on become part of their chunks' sums, and a sum an
** average with its last: in the order in which whole sequences are averaged. */
static void pool_rows(const Attention *a, int64_t n, int64_t d, const float *from, int64_t ld,
                      int64_t past, float *to) {
    for (int64_t t = 0; t < n; t++) {
        int64_t place = (past + t) % a->pool;
        int last = place == a->pool - 1;
        float *sum = to + (past + t) / a->pool * d, share = last ? 1.0f / (float)a->pool : 1.0f;
        for (int64_t e = 0; e < d; e++) {
            float x = (place ? sum[e] + from[t * ld + e] : from[t * ld + e]) * share;
            sum[e] = last ? cache_kept(a->bf16, x) : x;
        }
    }
}

static void append_rows(const Attention *a, int64_t b, int64_t d, const float *from, int64_t ld,
                        float *cache) {
    int64_t n = keys_of(a, b);
    if (a->pool) pool_rows(a, n, d, from, ld, a->past[b], cache);
    else keep_rows(a, n, d, from, ld, cache + a->past[b] * kept_floats(a->kept, d));
}

/* Rows of a call that has few do not replace what its queries see. */
int k_attention_appends_first(const Attention *a) { return !a->ring || a->time <= ATTENTION_FEW; }

/* The last rows of positions from 'past' on, each into its row of the ring. */
static void ring_rows(const Attention *a, int64_t b, int64_t d, const float *from, int64_t ld,
                      float *ring) {
    int64_t n = keys_of(a, b), t = max64(0, n - a->ring);
    for (int64_t next; t < n; t = next) {
        int64_t row = (a->past[b] + t) % a->ring;
        next = min64(n, t + a->ring - row);
        keep_rows(a, next - t, d, from + t * ld, ld, ring + row * kept_floats(a->kept, d));
    }
}

static void shaped_append(const Attention *a, int64_t b, int64_t g) {
    int64_t row = key_row(a, b), at = g * a->context;
    const float *k = a->k + row * a->ldk + g * a->dk, *v = a->v + row * a->ldv + g * a->dv;
    void (*append)(const Attention *, int64_t, int64_t, const float *, int64_t,
                   float *) = a->ring ? ring_rows : append_rows;
    append(a, b, a->dk, k, a->ldk, a->keys[b] + at * kept_floats(a->kept, a->dk));
    if (!a->share) append(a, b, a->dv, v, a->ldv, a->values[b] + at * kept_floats(a->kept, a->dv));
}

void k_attention_append(const Attention *a, int64_t b) {
    for (int64_t g = 0; a->shaped && g < a->groups; g++)
        shaped_append(a, b, g);
    if (a->shaped) return;
    for (int64_t g = 0; g < a->groups; g++) {
        int64_t row = key_row(a, b), at = g * a->context;
        append_rows(a, b, a->dk, a->k + row * a->ldk + g * a->dk, a->ldk,
                    a->keys[b] + at * kept_floats(a->kept, a->dk));
        append_rows(a, b, a->dv, a->v + row * a->ldv + g * a->dv, a->ldv,
                    a->values[b] + at * kept_floats(a->kept, a->dv));
    }
}
