/* SPDX-License-Identifier: MIT
** Caches whose histories are random, for problems of attention_case.h.
*/
#ifndef TESTS_ATTENTION_RANDOM_CACHE_H
#define TESTS_ATTENTION_RANDOM_CACHE_H

#include "attention_truth.h"

/* Caches of 'context' positions for every sequence; 'past' of them random.  With
** averages a row is a chunk of positions. */
typedef struct Cache {
    Guarded keys[4], values[4];
    float *key[4], *value[4];
    int64_t past[4];
} Cache;

static inline int64_t rows_of(const Attention *a, int64_t positions) {
    return a->pool ? (positions + a->pool - 1) / a->pool : positions;
}

static inline void cache_open(Cache *c, Attention *a, int64_t positions, const int64_t *past,
                              Draw *d) {
    int64_t context = rows_of(a, positions);
    for (int64_t b = 0; b < a->sequences; b++) {
        c->keys[b] = guard_bytes(a->groups * context * a->dk * 4, AFTER);
        c->values[b] = guard_bytes(a->groups * context * a->dv * 4, AFTER);
        memset(c->keys[b].at, 0xff, (size_t)(a->groups * context * a->dk * 4));
        memset(c->values[b].at, 0xff, (size_t)(a->groups * context * a->dv * 4));
        for (int64_t g = 0; g < a->groups; g++) {
            for (int64_t i = 0; i < rows_of(a, past[b]) * a->dk; i++)
                c->keys[b].at[g * context * a->dk + i] = draw_real(d);
            for (int64_t i = 0; i < rows_of(a, past[b]) * a->dv; i++)
                c->values[b].at[g * context * a->dv + i] = draw_real(d);
        }
        c->key[b] = c->keys[b].at;
        c->value[b] = c->values[b].at;
        c->past[b] = past[b];
    }
    a->keys = c->key;
    a->values = c->value;
    a->past = c->past;
    a->context = context;
}

static inline void cache_close(Cache *c, int64_t sequences) {
    for (int64_t b = 0; b < sequences; b++) {
        guard_free(c->keys[b]);
        guard_free(c->values[b]);
    }
}

#endif
