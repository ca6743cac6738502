/* SPDX-License-Identifier: MIT
** Attention, backward: probabilities are recomputed tile by tile from the
** log-sum-exp that the forward pass kept; no buffer grows with time squared.
**
** With s = scale q k^T, p = exp(s - lse), and delta, the sum of do * o over a row
** less the gradient of lse, which row kernels compute:
**   dv = p^T do     dp = do v^T     ds = p (dp - delta)
**   dq = scale ds k     dk = scale ds^T q
** The unit of work is a block of BLOCK queries of one head against a range of
** keys, tile by tile: dq gathers in panels, dk and dv in the result's own rows.
** Where (sequence, group) pairs keep the workers busy each is a task.  Elsewhere
** gradients of keys (a task owns a range of keys) and of queries (a task owns blocks)
** are separate tasks, at two more products a tile.  Every element is one chain in
** order of tiles and blocks either way: the bits are the same, and the number of
** workers may choose.  With averages over time every pair is a task: a tile's gradients
** are handed on to the positions that were averaged, which the next tile may share.
**
** Tasks that own ranges are cut for 'time' queries and keys: of shorter sequences
** some have nothing to do. Training form only (keys == NULL): no positions before the first.
**
** attention_grad.c and attention_grad_shaped.c include this with SHAPED 0 and 1.
*/
#ifndef STRATA_ATTENTION_BACK_H
#define STRATA_ATTENTION_BACK_H

#include "attention_tile.h"

enum {
    PANELS = BLOCK / PANEL,
    WHOLE_PRODUCTS = 5,   /* of a tile, where one task computes all gradients of a pair */
    SPLIT_PRODUCTS = 7,   /* of a tile, where two do */
    KEY_RANGE = 2 * KEYS, /* keys of a task that owns keys */
    QUERY_RANGE = 2 * BLOCK,
    FAR_BYTES = 1 << 20 /* of what a pair's blocks share: a second-level cache keeps less */
};

#include "attention_back_near.h"

typedef struct QueryBlock {
    const Attention *a;
    KeySource source;
    int queries, keys; /* which gradients are wanted */
    float *k, *v;      /* copies of a tile's rows */
    float *dk, *dv;    /* gradients of a tile of averages */
    float *room;       /* [OWN_FLOATS] */
    KeyRows near;      /* of own keys, from own_from on */
    float *p, *ds;     /* [PANELS][KEYS][PANEL] */
    /* of pairs: a tile's rows and its keys turned; p and ds [KEYS][BLOCK]; blocks of the rows
    ** below */
    uint16_t *key_rows, *value_rows, *turned, *p_rows, *ds_rows;
    float *q_block, *dout_block, *spare;
    float *q, *dout, *dq;      /* panels: [PANELS][d][PANEL] */
    float *q_rows, *dout_rows; /* [BLOCK][padded(d)] */
    float *lse, *delta;        /* [BLOCK], lse in units of log 2 */
    float *ones;               /* [PANEL] */
    RowsAhead ahead;
    int far; /* a pair's keys, values and their gradients are more than a cache keeps */
    int64_t b, group, head, t, n, own_from; /* queries t .. t + n - 1 */
} QueryBlock;

static QueryBlock open_space(const Attention *a, int64_t b, int64_t group, float *scratch) {
    QueryBlock x = { .a = a, .source = k_attention_source(a, b, group), .b = b, .group = group };
    x.k = take(&scratch, KEYS * padded(a->dk));
    x.v = take(&scratch, KEYS * padded(a->dv));
    x.dk = take(&scratch, KEYS * padded(a->dk));
    x.dv = take(&scratch, KEYS * padded(a->dv));
    x.p = take(&scratch, BLOCK * KEYS);
    x.ds = take(&scratch, BLOCK * KEYS);
    x.q = take(&scratch, BLOCK * panel_rows(a->dk));
    x.dq = take(&scratch, BLOCK * a->dk);
    x.dout = take(&scratch, BLOCK * panel_rows(a->dv));
    x.q_rows = take(&scratch, BLOCK * padded(a->dk));
    x.dout_rows = take(&scratch, BLOCK * padded(a->dv));
    x.lse = take(&scratch, BLOCK);
    x.delta = take(&scratch, BLOCK);
    x.ones = take(&scratch, PANEL);
    x.room = take(&scratch, OWN_FLOATS);
    fill(PANEL, 1.0f, x.ones);
    if (in_pairs(a)) {
        x.key_rows = take_bf16(&scratch, KEYS * whole_steps(a->dk));
        x.value_rows = take_bf16(&scratch, KEYS * whole_steps(a->dv));
        x.turned = take_bf16(&scratch, KEYS * a->dk);
        x.p_rows = take_bf16(&scratch, KEYS * BLOCK);
        x.ds_rows = take_bf16(&scratch, KEYS * BLOCK);
        x.q_block = take(&scratch, k_pairs_block_floats(a->dk, BLOCK));
        x.dout_block = take(&scratch, k_pairs_block_floats(a->dv, BLOCK));
        x.spare = take(&scratch, k_pairs_spare());
    }
    return x;
}

static int64_t block_steps(const QueryBlock *x) { return (x->n + PANEL - 1) / PANEL * PANEL; }

#include "attention_back_pairs.h"

/* The block's queries and their results' gradients as panels and as rows. */
static void open_rows(QueryBlock *x, const float *q, const float *dout) {
    const Attention *a = x->a;
    RowKind kind = row_kind(a);
    for (int64_t i = 0; i * PANEL < x->n; i++) {
        int64_t first = i * PANEL, n = min64(PANEL, x->n - first);
        k_panel_load(kind, n, a->dk, q + first * a->ldq, a->ldq, query_unit(a),
                     x->q + first * panel_rows(a->dk));
        k_panel_load(kind, n, a->dv, dout + first * a->lddout, a->lddout, 1.0f,
                     x->dout + first * panel_rows(a->dv));
    }
    if (x->keys) {
        k_rows_load(kind, x->n, a->dk, q, a->ldq, in_pairs(a) ? 1.0f : a->scale, x->q_rows);
        k_rows_load(kind, x->n, a->dv, dout, a->lddout, 1.0f, x->dout_rows);
        fill((BLOCK - x->n) * padded(a->dk), 0, x->q_rows + x->n * padded(a->dk));
        fill((BLOCK - x->n) * padded(a->dv), 0, x->dout_rows + x->n * padded(a->dv));
    }
    if (in_pairs(a)) open_pairs(x);
}

/* Packs queries t .. t + n - 1 of the head.  Lanes without a query hold zeros
** everywhere: they add exactly zero to every gradient. */
static void open_block(QueryBlock *x, int64_t head, int64_t t) {
    const Attention *a = x->a;
    x->head = head;
    x->t = t;
    x->n = min64(BLOCK, queries_of(a, x->b) - t);
    int64_t row = query_row(a, x->b) + t;
    const float *q = a->q + row * a->ldq + head * row_floats(a, a->dk);
    const float *dout = a->dout + row * a->lddout + head * row_floats(a, a->dv);
    fill(BLOCK, 0, x->lse);
    fill(BLOCK, 0, x->delta);
    for (int64_t i = 0; i < x->n; i++) {
        x->lse[i] = a->lse[(row + i) * a->ldlse + head] * LOG2_E;
        x->delta[i] = a->delta[(row + i) * a->lddelta + head];
    }
    if (x->queries) fill(BLOCK * a->dk, 0, x->dq);
    if (in_pairs(a) && a->narrow && x->n % PANEL == 0) open_narrow(x, q, dout);
    else open_rows(x, q, dout);
}

/* s[key][PANEL] times 'unit' become probabilities, ds[key][PANEL] (dp until now) p (dp - delta). */
INLINE void differentiate(const int bf16, int64_t keys, const float *lse, const float *delta,
                          float *s, float *ds) {
    V lse0 = v_load(lse), lse1 = v_load(lse + LANES), delta0 = v_load(delta),
      delta1 = v_load(delta + LANES);
    for (int64_t j = 0; j < keys; j++, s += PANEL, ds += PANEL) {
        V p0 = v_exp2(v_load(s) - lse0), p1 = v_exp2(v_load(s + LANES) - lse1);
        v_store(s, factor(bf16, p0));
        v_store(s + LANES, factor(bf16, p1));
        v_store(ds, factor(bf16, p0 * (v_load(ds) - delta0)));
        v_store(ds + LANES, factor(bf16, p1 * (v_load(ds + LANES) - delta1)));
    }
}

/* The same of float32. */
static void probabilities(const QueryBlock *x, int64_t i, int64_t some, float *s, float *ds) {
    const float *lse = x->lse + i * PANEL, *delta = x->delta + i * PANEL;
    if (rounds(x->a)) differentiate(1, some, lse, delta, s, ds);
    else differentiate(0, some, lse, delta, s, ds);
}

/* The same of problems that are shaped, whose scores have their units; panel i against keys from
** 'first' on, those any of its queries sees. */
static void shaped_probabilities(const QueryBlock *x, int64_t i, int64_t first, int64_t some,
                                 float *s, float *ds) {
    const Attention *a = x->a;
    float *slope = x->dk; /* averages' gradients come after a tile's panels */
    Shaped shaped = { a,
                      &x->source,
                      query_row(a, x->b),
                      x->t + i * PANEL,
                      min64(PANEL, x->n - i * PANEL),
                      x->head,
                      first,
                      some };
    k_shape_scores(&shaped, s, slope);
    differentiate(0, some, x->lse + i * PANEL, x->delta + i * PANEL, s, ds);
    if (x->queries && a->ddistance) k_shape_distances(&shaped, ds);
    k_shape_back(&shaped, rounds(a), slope, s, ds);
}

/* Scores s and d p of panel i against the first 'some' keys of a tile. */
static void scores(const QueryBlock *x, int64_t i, int64_t some, const float *k, int64_t ldk,
                   const float *v, int64_t ldv, float *s, float *dp) {
    const Attention *a = x->a;
    const float *q = x->q + i * PANEL * panel_rows(a->dk),
                *dout = x->dout + i * PANEL * panel_rows(a->dv);
    if (in_pairs(a)) {
        score_pairs(some, a->dk, x->key_rows, q, s, x->spare);
        score_pairs(some, a->dv, x->value_rows, dout, dp, x->spare);
        return;
    }
    k_tile_score(some, a->dk, k, ldk, q, s, NULL);
    k_tile_score(some, a->dv, v, ldv, dout, dp, NULL);
}

/* What panel i's p and ds[some][PANEL] are multiplied as: their gradients of keys later, those of
** queries now. */
static void hand_on(QueryBlock *x, int64_t i, int64_t some, int64_t n, const float *k, int64_t ldk,
                    float *p, float *ds) {
    const Attention *a = x->a;
    float *dq = x->dq + i * PANEL * a->dk;
    if (!in_pairs(a)) {
        int64_t zeros = min64(n, some + PANEL) - some;
        fill(zeros * PANEL, 0, p + some * PANEL);
        fill(zeros * PANEL, 0, ds + some * PANEL);
        if (x->queries) k_tile_mix(some, a->dk, k, ldk, ds, x->ones, dq);
        return;
    }
    if (x->keys) {
        set_columns(i, some, n, p, x->p_rows);
        set_columns(i, some, n, ds, x->ds_rows);
    }
    if (x->queries) {
        pair_panel(some, ds);
        mix_pairs(n, some, a->dk, x->turned, ds, dq, x->spare);
    }
}

/* p and ds of panel i against the tile's n keys from 'first' on; returns how many
** keys any of its queries sees.  Rows after them are zero as far as the products
** over queries may read. */
static int64_t tile_panel(QueryBlock *x, int64_t i, int64_t first, int64_t n, const float *k,
                          int64_t ldk, const float *v, int64_t ldv) {
    const Attention *a = x->a;
    int64_t t = x->t + i * PANEL, last = min64(t + PANEL, queries_of(a, x->b)) - 1;
    int64_t all = visible(a, &x->source, t, first, n),
            some = visible(a, &x->source, last, first, n);
    int64_t place = in_pairs(a) ? 0 : i; /* of pairs, what is left of them are rows */
    float *p = x->p + place * KEYS * PANEL, *ds = x->ds + place * KEYS * PANEL;
    if (SHAPED && first_seen(a, &x->source, t) >= first + n) some = 0;
    if (some > 0) scores(x, i, some, k, ldk, v, ldv, p, ds);
    if (!SHAPED && some > all) {
        int32_t seen[PANEL];
        visible_to(a, &x->source, t, first, seen);
        k_tile_mask(all, some, seen, score_unit(a), p);
    }
    if (!SHAPED) probabilities(x, i, some, p, ds);
    else if (some > 0) shaped_probabilities(x, i, first, some, p, ds);
    if (some > 0 || in_pairs(a)) hand_on(x, i, some, n, k, ldk, p, ds);
    return some;
}

/* y[n][d] += sum over the block's queries of p[query][key] x[query][d]: the values' gradients from
** p and the output's, the keys' from ds and the queries. */
static void tile_back(QueryBlock *x, int64_t n, int64_t d, int64_t panels, const int64_t *count,
                      int of_keys, float *y, int64_t ldy) {
    if (in_pairs(x->a)) {
        k_pairs_multiply(n, block_steps(x), of_keys ? x->ds_rows : x->p_rows, BLOCK,
                         of_keys ? x->q_block : x->dout_block, y, ldy, d, 1, x->spare);
        return;
    }
    k_tile_back(n, d, panels, count, of_keys ? x->ds : x->p, of_keys ? x->q_rows : x->dout_rows, y,
                ldy);
}

/* Gradients of n averages from 'first' on, handed on to what they are averages of. */
static void tile_averages(QueryBlock *x, int64_t first, int64_t n, int64_t panels,
                          const int64_t *count) {
    const Attention *a = x->a;
    int64_t row = x->b * a->time;
    fill(n * padded(a->dk), 0, x->dk);
    fill(n * padded(a->dv), 0, x->dv);
    tile_back(x, n, a->dv, panels, count, 0, x->dv, padded(a->dv));
    tile_back(x, n, a->dk, panels, count, 1, x->dk, padded(a->dk));
    k_pool_back(a, first, n, a->dv, x->dv, a->dvalue + row * a->lddv + x->group * a->dv, a->lddv);
    k_pool_back(a, first, n, a->dk, x->dk, a->dk_ + row * a->lddk + x->group * a->dk, a->lddk);
}

static KeyRows tile_rows(QueryBlock *x, int64_t first, int64_t n) {
    const Attention *a = x->a;
    if (x->near.k) return rows_from(x->near, first - x->own_from);
    KeyRows r = far_rows(a, x->b, x->group, first);
    r.ldk = a->ldk, r.ldv = a->ldv;
    r.k = k_source_near(a, &x->source, first, n, a->dk, x->source.k, &r.ldk, x->k);
    r.v = k_source_near(a, &x->source, first, n, a->dv, x->source.v, &r.ldv, x->v);
    if (in_pairs(a)) {
        ask_for_tile(x, first, n, r.dk, r.dv);
    } else if (x->keys && !a->pool) {
        k_rows_soon(n, a->dk, r.dk, r.lddk);
        k_rows_soon(n, a->dv, r.dv, r.lddv);
    }
    return r;
}

/* The block against the tile of n keys from 'first' on. */
static void tile(QueryBlock *x, int64_t first, int64_t n) {
    const Attention *a = x->a;
    int64_t panels = (x->n + PANEL - 1) / PANEL, count[PANELS];
    KeyRows r = tile_rows(x, first, n);
    if (in_pairs(a)) open_tile(x, n, r.k, r.ldk, r.v, r.ldv);
    for (int64_t i = 0; i < panels; i++) {
        if (in_pairs(a)) ahead_ask(&x->ahead, panels - i);
        if (!SHAPED && in_pairs(a)) panel_of_pairs(x, i, first, n);
        else count[i] = tile_panel(x, i, first, n, r.k, r.ldk, r.v, r.ldv);
    }
    /* Later panels may be past their windows. */
    while (SHAPED && a->window && panels > 0 && !count[panels - 1])
        panels--;
    if (a->pool) {
        tile_averages(x, first, n, panels, count);
    } else if (x->keys) {
        tile_back(x, n, a->dv, panels, count, 0, r.dv, r.lddv);
        tile_back(x, n, a->dk, panels, count, 1, r.dk, r.lddk);
    }
}

/* Gradients of queries t0..t1-1 of heads h0..h1-1, and what these add to those of
** keys k0..k1-1. */
static void blocks(QueryBlock *x, int64_t h0, int64_t h1, int64_t t0, int64_t t1, int64_t k0,
                   int64_t k1) {
    const Attention *a = x->a;
    for (int64_t head = h0; head < h1; head++)
        for (int64_t t = t0; t < t1; t += BLOCK) {
            int64_t last = min64(t + BLOCK, queries_of(a, x->b)) - 1;
            int64_t end = k0 + visible(a, &x->source, last, k0, k1 - k0);
            int64_t seen = SHAPED ? first_seen(a, &x->source, t) : 0,
                    begin = seen > k0 ? k0 + (seen - k0) / KEYS * KEYS : k0;
            if (end <= begin && !x->queries) continue;
            open_block(x, head, t);
            if (SHAPED && x->queries && a->ddistance && !a->one_table)
                clear_rows(x->n, a->distances,
                           a->ddistance + (query_row(a, x->b) + t) * a->ldddistance
                               + head * a->distances,
                           a->ldddistance);
            for (int64_t first = begin; first < end; first += KEYS)
                tile(x, first, min64(KEYS, k1 - first));
            if (!x->queries) continue;
            fill(PANEL, a->scale, x->lse);
            for (int64_t i = 0; i * PANEL < x->n; i++)
                k_panel_store(a->narrow, min64(PANEL, x->n - i * PANEL), a->dk,
                              x->dq + i * PANEL * a->dk, x->lse,
                              a->dq + (query_row(a, x->b) + t + i * PANEL) * a->lddq
                                  + head * row_floats(a, a->dk),
                              a->lddq);
        }
}

/* Queries of pairs are not scaled, so that they are rounded once: what they added up to is. */
static void scale_rows(int64_t n, int64_t d, float scale, float *rows, int64_t ld) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e++)
            rows[t * ld + e] *= scale;
}

/* Overwrites the gradients of the group's keys k0..k1-1 (of averages: of all that
** they are averages of); also of its queries. */
static void own_keys(QueryBlock *x, int64_t k0, int64_t k1, int queries) {
    const Attention *a = x->a;
    int64_t shared = a->heads / a->groups, rows = a->pool ? a->time : k1 - k0;
    KeyRows far = far_rows(a, x->b, x->group, k0);
    x->near = near_rows(a, &x->source, k0, k1 - k0, x->room);
    if (!x->near.k) {
        clear_rows(rows, a->dk, far.dk, far.lddk);
        clear_rows(rows, a->dv, far.dv, far.lddv);
    }
    x->keys = 1, x->queries = queries, x->own_from = k0;
    x->far = (k1 - k0) * (a->dk + a->dv) * 8 > FAR_BYTES;
    int64_t t0 = a->causal && !a->sees ? k0 / BLOCK * BLOCK : 0, t1 = queries_of(a, x->b);
    if (SHAPED && a->window) t1 = min64(t1, k1 - 1 + a->window);
    if (SHAPED && queries && a->one_table) clear_table(a, x->b, x->group);
    blocks(x, x->group * shared, (x->group + 1) * shared, t0, t1, k0, k1);
    if (x->near.k) near_give(a, rows, x->near, far);
    if (in_pairs(a)) scale_rows(rows, a->dk, a->scale, far.dk, far.lddk);
}

/* Whether a pair is one task: if the worker with most pairs is done before it would be with its
** share of all tiles' two more products. */
static int whole_groups(const Attention *a) {
    int64_t pairs = a->sequences * a->groups, workers = max64(a->workers, 1),
            most = (pairs + workers - 1) / workers;
    return a->pool || a->one_table || most * workers * WHOLE_PRODUCTS <= pairs * SPLIT_PRODUCTS;
}

static void grad_part(const Attention *a, int64_t task, float *scratch) {
    int64_t pairs = a->sequences * a->groups;
    if (whole_groups(a)) {
        QueryBlock x = open_space(a, task / a->groups, task % a->groups, scratch);
        own_keys(&x, 0, x.source.count, 1);
        return;
    }
    int64_t pair = task % pairs, range = task / pairs * KEY_RANGE;
    if (range < a->time) {
        QueryBlock x = open_space(a, pair / a->groups, pair % a->groups, scratch);
        if (range < x.source.count)
            own_keys(&x, range, min64(range + KEY_RANGE, x.source.count), 0);
        return;
    }
    task -= pairs * ((a->time + KEY_RANGE - 1) / KEY_RANGE);
    int64_t ranges = (a->time + QUERY_RANGE - 1) / QUERY_RANGE;
    int64_t head = task % a->heads, b = task / a->heads % a->sequences;
    int64_t t = (ranges - 1 - task / a->heads / a->sequences) * QUERY_RANGE; /* the longest first */
    QueryBlock x = open_space(a, b, head / (a->heads / a->groups), scratch);
    x.queries = x.far = 1;
    blocks(&x, head, head + 1, t, min64(t + QUERY_RANGE, queries_of(a, b)), 0, x.source.count);
}

static void grad_task(const Attention *a, int64_t task, float *scratch) {
    if (in_pairs(a)) k_pairs_begin();
    grad_part(a, task, scratch);
    if (in_pairs(a)) k_pairs_end();
}

#endif
