/* SPDX-License-Identifier: MIT
** Attention, backward: where the keys and values of a task lie, and their gradients.
**
** Every block of queries comes back to all of them.  A head's rows are as far apart as those of all
** heads, often a power of two: then they share few sets of a cache, and push each other out long
** before it is full.  So a task copies those that it owns to rows side by side, where OWN_FLOATS
** hold them, and hands their gradients back in the end.
*/
#ifndef STRATA_ATTENTION_BACK_NEAR_H
#define STRATA_ATTENTION_BACK_NEAR_H

#include "attention_tile.h"

/* Rows of keys and values and of their gradients, from some key on.  Of a task's own, k is NULL if
** they are not copied. */
typedef struct KeyRows {
    const float *k, *v;
    float *dk, *dv;
    int64_t ldk, ldv, lddk, lddv;
} KeyRows;

static void fill(int64_t n, float value, float *x) {
    for (int64_t i = 0; i < n; i += LANES)
        v_store(x + i, v_splat(value));
}

/* Where the gradients belong of a group's keys from 'first' on. */
static KeyRows far_rows(const Attention *a, int64_t b, int64_t group, int64_t first) {
    int64_t row = key_row(a, b) + first;
    return (KeyRows){ .dk = a->dk_ + row * a->lddk + group * a->dk,
                      .dv = a->dvalue + row * a->lddv + group * a->dv,
                      .lddk = a->lddk,
                      .lddv = a->lddv };
}

/* The same rows from the key on that is so many further. */
static KeyRows rows_from(KeyRows x, int64_t keys) {
    x.k += keys * x.ldk, x.v += keys * x.ldv;
    x.dk += keys * x.lddk, x.dv += keys * x.lddv;
    return x;
}

/* Copies n keys and values from 'first' on to room[OWN_FLOATS], if they and their gradients fit,
** which are zeros yet.  Pairs are brought near as such, averages as they are computed. */
static KeyRows near_rows(const Attention *a, const KeySource *s, int64_t first, int64_t n,
                         float *room) {
    KeyRows x = { .ldk = a->ldk, .ldv = a->ldv, .lddk = padded(a->dk), .lddv = padded(a->dv) };
    float *end = room;
    float *copy_k = take(&end, n * padded(a->dk)), *copy_v = take(&end, n * padded(a->dv)),
          *dk = take(&end, n * padded(a->dk)), *dv = take(&end, n * padded(a->dv));
    if (in_pairs(a) || a->pool || end - room > OWN_FLOATS) return x;
    x.dk = dk, x.dv = dv;
    x.k = k_source_near(a, s, first, n, a->dk, s->k, &x.ldk, copy_k);
    x.v = k_source_near(a, s, first, n, a->dv, s->v, &x.ldv, copy_v);
    fill(n * padded(a->dk), 0, x.dk);
    fill(n * padded(a->dv), 0, x.dv);
    return x;
}

static void give_rows(int64_t n, int64_t d, const float *near, float *rows, int64_t ld) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e += LANES)
            store_left(rows + t * ld + e, d - e, v_load(near + t * padded(d) + e));
}

/* Gradients of n keys and values, to where they belong. */
static void near_give(const Attention *a, int64_t n, KeyRows near, KeyRows to) {
    give_rows(n, a->dk, near.dk, to.dk, to.lddk);
    give_rows(n, a->dv, near.dv, to.dv, to.lddv);
}

/* The gradient of one table by distances, of the group's heads, before all their queries add to it:
** each pair of a sequence and a group is one task then. */
INLINE void clear_table(const Attention *a, int64_t b, int64_t group) {
    int64_t shared = a->heads / a->groups;
    clear_rows(queries_of(a, b), shared,
               a->ddistance + query_row(a, b) * a->ldddistance + group * shared, a->ldddistance);
}

#endif
