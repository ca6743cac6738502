/* SPDX-License-Identifier: MIT
** Attention of a few queries to a cache: its scratch, its tasks, and those that nothing shapes. */
#include "attention_few.h"

/* s[j] = q . k[j]: four keys at once, each a vector of chains, added in one order. */
static void few_scores(int64_t n, int64_t d, const float *q, const float *k, int64_t ldk,
                       float *s) {
    int64_t whole = d / LANES * LANES, j = 0;
    for (; j + 4 <= n; j += 4, k += 4 * ldk) {
        V acc[4] = { v_zero(), v_zero(), v_zero(), v_zero() };
        for (int64_t e = 0; e < whole; e += LANES)
            for (int i = 0; i < 4; i++)
                acc[i] = v_fma(v_load(q + e), v_load(k + i * ldk + e), acc[i]);
        for (int i = 0; i < 4; i++) {
            if (whole < d)
                acc[i] = v_fma(v_load(q + whole), v_load_part(k + i * ldk + whole, d - whole),
                               acc[i]);
            s[j + i] = v_sum(acc[i]);
        }
    }
    for (; j < n; j++, k += ldk) {
        V acc = v_zero();
        for (int64_t e = 0; e < whole; e += LANES)
            acc = v_fma(v_load(q + e), v_load(k + e), acc);
        if (whole < d) acc = v_fma(v_load(q + whole), v_load_part(k + whole, d - whole), acc);
        s[j] = v_sum(acc);
    }
}

static void attend_rows(const Attention *a, const KeySource *source, int64_t b, Row *row,
                        int64_t rows, float *s, float *room) {
    (void)b;
    for (int64_t first = 0; first < source->count; first += TILE) {
        /* Caches lie in small pages, at whose ends the processor stops to look ahead. */
        int64_t here = min64(TILE, source->count - first),
                next = min64(TILE, source->count - first - TILE);
        k_rows_soon(next, source->ldk, source->k + (first + TILE) * source->ldk, source->ldk);
        k_rows_soon(next, source->ldv, source->v + (first + TILE) * source->ldv, source->ldv);
        NearRows x = k_rows_near(a, source, first, here, room, room + TILE * padded(a->dk));
        for (int64_t i = 0; i < rows; i++) {
            int64_t n = visible(a, source, row[i].t, first, here);
            if (n == 0) continue;
            few_scores(n, a->dk, row[i].q, x.k, x.ldk, s);
            float alpha = few_softmax(a, n, &row[i], s);
            row[i].keys += n;
            few_mix(n, a->dv, s, x.v, x.ldv, alpha, row[i].o);
        }
    }
}

/* Rows, their scores, and a tile of keys and values that a cache keeps otherwise. */
int64_t k_attention_few_floats(int64_t d) {
    return ROWS_ONCE * (2 * padded(d) + 32 + TILE) + 16 + 2 * TILE * padded(d);
}

int64_t k_attention_few_tasks(const Attention *a) {
    return a->sequences * a->groups * few_shares(a);
}

void k_attention_few(const Attention *a, int64_t task, float *scratch) {
    few_task(a, task, scratch);
}
