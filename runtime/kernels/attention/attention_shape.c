/* SPDX-License-Identifier: MIT
** Changes to scores besides products: caps, additions by distance, windows; and their effects on
** the gradients of scores.
**
** A row of a table by distances has the numbers of one query, in the opposite order of the keys.
** It is processed in squares of LANES queries by LANES keys, in which rows become columns.
*/
#include "attention_tile.h"
#include "transpose.h"

/* s[n][PANEL] = cap tanh(unit s / cap); 'slope' as of k_shape_scores. */
static void cap_scores(int64_t n, float unit, float cap, float *s, float *slope) {
    float share = unit / cap;
    for (int64_t i = 0; i < n * PANEL; i += LANES) {
        V part = v_tanh(v_load(s + i) * share);
        v_store(s + i, part * cap);
        if (slope) v_store(slope + i, 1.0f - part * part);
    }
}

/* How far behind the panel's query 'lane' the tile's j-th key is. */
static int64_t distance_of(const Shaped *x, int64_t lane, int64_t j) {
    return x->source->past + x->t + lane - (x->first + j);
}

/* Whether any of LANES queries and LANES keys are as far from each other as a table goes. */
static int is_near(const Shaped *x, int64_t lane, int64_t j) {
    return distance_of(x, lane + LANES - 1, j) >= 0
        && distance_of(x, lane, j + LANES - 1) < x->a->distances;
}

/* Numbers 'at' ... of a row of n, zeros where it has none. */
static V load_range(const float *row, int64_t n, int64_t at) {
    V v = v_zero();
    if (at >= 0 && at + LANES <= n) return v_load(row + at);
    for (int64_t i = max64(0, -at); i < min64(LANES, n - at); i++)
        v[i] = row[at + i];
    return v;
}

static void store_range(float *row, int64_t n, int64_t at, V v) {
    if (at >= 0 && at + LANES <= n) {
        v_store(row + at, v);
        return;
    }
    for (int64_t i = max64(0, -at); i < min64(LANES, n - at); i++)
        row[at + i] = v[i];
}

static int64_t shape_row_of(const Shaped *x, int64_t lane) { return x->row + x->t + lane; }

/* LANES queries from 'lane' on, and keys j ...; the last key is nearest. */
static void add_square(const Shaped *x, int64_t lane, int64_t j, float *s) {
    const Attention *a = x->a;
    V r[LANES];
    for (int l = 0; l < LANES; l++)
        r[l] = lane + l < x->queries
            ? load_range(a->by_distance + shape_row_of(x, lane + l) * a->lddistance
                             + x->head * a->distances,
                         a->distances, distance_of(x, lane + l, j + LANES - 1))
            : v_zero();
    transpose(r);
    for (int e = 0; e < LANES; e++) {
        float *at = s + (j + LANES - 1 - e) * PANEL + lane;
        if (j + LANES - 1 - e < x->n) v_store(at, v_fma(r[e], v_splat(LOG2_E), v_load(at)));
    }
}

static void add_distances(const Shaped *x, float *s) {
    for (int64_t lane = 0; lane < x->queries; lane += LANES)
        for (int64_t j = 0; j < x->n; j += LANES)
            if (is_near(x, lane, j)) add_square(x, lane, j, s);
}

/* r[l]: of query lane + l, by distances from that of key j + LANES - 1 on. */
INLINE void turn_square(const Shaped *x, int64_t lane, int64_t j, const float *ds, V *r) {
    for (int e = 0; e < LANES; e++) {
        int64_t key = j + LANES - 1 - e;
        r[e] = key < x->n ? v_load(ds + key * PANEL + lane) : v_zero();
    }
    transpose(r);
}

/* Each query's row gets its own. */
static void give_rows(const Shaped *x, const float *ds) {
    const Attention *a = x->a;
    for (int64_t lane = 0; lane < x->queries; lane += LANES)
        for (int64_t j = 0; j < x->n; j += LANES) {
            V r[LANES];
            if (!is_near(x, lane, j)) continue;
            turn_square(x, lane, j, ds, r);
            for (int l = 0; l < LANES && lane + l < x->queries; l++)
                store_range(a->ddistance + shape_row_of(x, lane + l) * a->ldddistance
                                + x->head * a->distances,
                            a->distances, distance_of(x, lane + l, j + LANES - 1), r[l]);
        }
}

/* What all queries of the panel give for a distance is added to the sequence's row for it. */
static void add_to_table(const Shaped *x, const float *ds) {
    const Attention *a = x->a;
    enum { MOST = KEYS + PANEL + 2 * LANES };
    int64_t keys = (x->n + LANES - 1) / LANES * LANES, base = distance_of(x, 0, keys - 1),
            end = min64(a->distances, distance_of(x, x->queries - 1, 0) + 1);
    float sum[MOST];
    for (int64_t i = 0; i < MOST; i++)
        sum[i] = 0;
    for (int64_t lane = 0; lane < x->queries; lane += LANES)
        for (int64_t j = 0; j < x->n; j += LANES) {
            V r[LANES];
            if (!is_near(x, lane, j)) continue;
            turn_square(x, lane, j, ds, r);
            for (int l = 0; l < LANES && lane + l < x->queries; l++) {
                float *at = sum + distance_of(x, lane + l, j + LANES - 1) - base;
                v_store(at, v_load(at) + r[l]);
            }
        }
    for (int64_t d = max64(0, base); d < end; d++)
        a->ddistance[(x->row + d) * a->ldddistance + x->head] += sum[d - base];
}

void k_shape_distances(const Shaped *x, const float *ds) {
    if (x->a->one_table) add_to_table(x, ds);
    else give_rows(x, ds);
}

/* -inf where a lane's window begins after the key. */
static void mask_before(int64_t n, const int32_t *begin, float *s) {
    for (int c = 0; c < 2; c++) {
        VI from = vi_load(begin + c * LANES);
        for (int64_t j = 0; j < n; j++) {
            float *at = s + j * PANEL + c * LANES;
            v_store(at, v_select(from > (int32_t)j, v_splat(-__builtin_inff()), v_load(at)));
        }
    }
}

static void mask(const Shaped *x, float *s) {
    const Attention *a = x->a;
    int32_t lanes[PANEL];
    int64_t all = visible(a, x->source, x->t, x->first, x->n);
    if (all < x->n) {
        visible_to(a, x->source, x->t, x->first, lanes);
        k_tile_mask(all, x->n, lanes, 1.0f, s);
    }
    if (first_seen(a, x->source, x->t + PANEL - 1) <= x->first) return;
    for (int64_t i = 0; i < PANEL; i++)
        lanes[i] = (int32_t)(first_seen(a, x->source, x->t + i) - x->first);
    mask_before(x->n, lanes, s);
}

void k_shape_scores(const Shaped *x, float *s, float *slope) {
    const Attention *a = x->a;
    float unit = score_unit(a);
    if (a->softcap > 0) cap_scores(x->n, unit, a->softcap * LOG2_E, s, slope);
    else if (in_pairs(a))
        for (int64_t i = 0; i < x->n * PANEL; i += LANES)
            v_store(s + i, v_load(s + i) * unit);
    if (a->by_distance) add_distances(x, s);
    mask(x, s);
}

void k_shape_back(const Shaped *x, int bf16, const float *slope, float *p, float *ds) {
    int capped = x->a->softcap > 0;
    for (int64_t i = 0; (capped || bf16) && i < x->n * PANEL; i += LANES) {
        V d = v_load(ds + i);
        if (capped) d *= v_load(slope + i);
        v_store(ds + i, bf16 ? v_bf16(d) : d);
        if (bf16) v_store(p + i, v_bf16(v_load(p + i)));
    }
}

void k_shape_row(const Shaped *x, float *s) {
    const Attention *a = x->a;
    float cap = a->softcap * LOG2_E;
    for (int64_t j = 0; cap > 0 && j < x->n; j += LANES)
        v_store(s + j, v_tanh(v_load(s + j) * (1.0f / cap)) * cap);
    if (!a->by_distance) return;
    const float *row = a->by_distance + shape_row_of(x, 0) * a->lddistance + x->head * a->distances;
    int64_t last = distance_of(x, 0, 0);
    for (int64_t j = max64(0, last - a->distances + 1); j < x->n; j++)
        s[j] = s_fma(row[last - j], LOG2_E, s[j]);
}
