/* SPDX-License-Identifier: MIT
** Backward attention with products of pairs: what attention_back.h does for a block of queries and
** a tile of keys.  Scores become rows and pairs at once, so that a panel's are the only ones near.
*/
#ifndef STRATA_ATTENTION_BACK_PAIRS_H
#define STRATA_ATTENTION_BACK_PAIRS_H

/* Queries and their results' gradients, of bfloat16s of whole panels, as panels and blocks. */
static void open_narrow(QueryBlock *x, const float *q, const float *dout) {
    const Attention *a = x->a;
    for (int64_t i = 0; i < x->n; i += PANEL) {
        k_pairs_panel(PANEL, a->dk, q + i * a->ldq, a->ldq, x->q + i * panel_rows(a->dk));
        k_pairs_panel(PANEL, a->dv, dout + i * a->lddout, a->lddout,
                      x->dout + i * panel_rows(a->dv));
    }
    if (!x->keys) return;
    k_pairs_block_of(a->dk, x->n, q, a->ldq, x->q_block);
    k_pairs_block_of(a->dv, x->n, dout, a->lddout, x->dout_block);
}

static void open_pairs(QueryBlock *x) {
    const Attention *a = x->a;
    for (int64_t i = 0; i * PANEL < x->n; i++) {
        float *q = x->q + i * PANEL * panel_rows(a->dk),
              *dout = x->dout + i * PANEL * panel_rows(a->dv);
        pair_panel(a->dk, q);
        pair_panel(a->dv, dout);
    }
    if (!x->keys) return;
    k_pairs_block(a->dk, block_steps(x), x->q_rows, padded(a->dk), x->q_block);
    k_pairs_block(a->dv, block_steps(x), x->dout_rows, padded(a->dv), x->dout_block);
}

/* The tile's gradients dk and dv, and the next tile: blocks before this one have seen the
** others. */
static void ask_for_tile(QueryBlock *x, int64_t first, int64_t n, const float *dk,
                         const float *dv) {
    const Attention *a = x->a;
    ahead_clear(&x->ahead);
    if (x->t > 0 && first + 2 * n <= x->t && !x->far) return;
    source_ahead(a, &x->source, first + n, KEYS, &x->ahead);
    if (!x->keys || a->pool) return;
    ahead_add(&x->ahead, n, a->dk, dk, a->lddk);
    ahead_add(&x->ahead, n, a->dv, dv, a->lddv);
}

/* A tile of n keys becomes left operands. */
static void open_tile(QueryBlock *x, int64_t n, const float *k, int64_t ldk, const float *v,
                      int64_t ldv) {
    const Attention *a = x->a;
    left_operand(a, n, a->dk, k, ldk, x->key_rows);
    left_operand(a, n, a->dv, v, ldv, x->value_rows);
    if (x->queries) k_pairs_turn(n, a->dk, x->key_rows, x->turned);
}

/* Panel i's columns of rows[n][BLOCK] = s[some][PANEL], zeros after them. */
INLINE void set_columns(int64_t i, int64_t some, int64_t n, const float *s, uint16_t *rows) {
    rows += i * PANEL;
    for (int64_t j = 0; j < n; j++, rows += BLOCK, s += PANEL)
        for (int c = 0; c < PANEL; c += LANES)
            v_store_bf16(rows + c, j < some ? v_load(s + c) : v_zero());
}

/* Panel i of queries against a tile of keys. */
typedef struct BackTurn {
    int64_t i, all, some; /* keys that all of its queries see, that any of them sees */
    float *s, *ds; /* scores [KEYS][PANEL]; gradients of probabilities, then of scores, pairs */
} BackTurn;

/* Row j of a panel's probabilities and its scores' cotangents; those of the first 'all' keys are in
** units of their own, from 'some' on there are none. */
typedef struct PanelRow {
    V p[2], ds[2];
} PanelRow;

INLINE PanelRow panel_row(const QueryBlock *x, const BackTurn *t, int64_t j) {
    const float *lse = x->lse + t->i * PANEL, *delta = x->delta + t->i * PANEL;
    PanelRow r = { { v_zero(), v_zero() }, { v_zero(), v_zero() } };
    float unit = j < t->all ? score_unit(x->a) : 1.0f;
    if (j < t->some) UNROLL for (int c = 0; c < 2; c++) {
            int64_t at = j * PANEL + c * LANES;
            r.p[c] = v_exp2(v_fma(v_load(t->s + at), v_splat(unit), -v_load(lse + c * LANES)));
            r.ds[c] = r.p[c] * (v_load(t->ds + at) - v_load(delta + c * LANES));
        }
    return r;
}

/* As columns of the tile's rows p and ds. */
INLINE void put_row(const QueryBlock *x, const BackTurn *t, int64_t j, const PanelRow *r) {
    int64_t at = j * BLOCK + t->i * PANEL;
    UNROLL for (int c = 0; c < 2; c++) {
        v_store_bf16(x->p_rows + at + c * LANES, r->p[c]);
        v_store_bf16(x->ds_rows + at + c * LANES, r->ds[c]);
    }
}

/* Keys [from, to) of the tile; both are even, or 'to' is the last of them. */
static void differentiate_pairs(const QueryBlock *x, const BackTurn *t, int64_t from, int64_t to) {
    for (int64_t j = from; j < to; j += 2) {
        PanelRow even = panel_row(x, t, j), odd = panel_row(x, t, j + 1);
        if (x->keys) put_row(x, t, j, &even);
        if (x->keys && j + 1 < to) put_row(x, t, j + 1, &odd);
        if (x->queries) store_pairs(t->ds, j, even.ds[0], even.ds[1], odd.ds[0], odd.ds[1]);
    }
}

static BackTurn open_turn(const QueryBlock *x, int64_t i, int64_t first, int64_t n) {
    int64_t t = x->t + i * PANEL, last = min64(t + PANEL, queries_of(x->a, x->b)) - 1;
    return (BackTurn){ i, visible(x->a, &x->source, t, first, n),
                       visible(x->a, &x->source, last, first, n), x->p, x->ds };
}

static void mask_turn(const QueryBlock *x, const BackTurn *t, int64_t first) {
    int32_t seen[PANEL];
    if (t->some == t->all) return;
    visible_to(x->a, &x->source, x->t + t->i * PANEL, first, seen);
    k_tile_mask(t->all, t->some, seen, score_unit(x->a), t->s);
}

/* Panel i of the block against the tile's n keys from 'first' on. */
static void panel_of_pairs(QueryBlock *x, int64_t i, int64_t first, int64_t n) {
    const Attention *a = x->a;
    BackTurn t = open_turn(x, i, first, n);
    const float *q = x->q + i * PANEL * panel_rows(a->dk),
                *dout = x->dout + i * PANEL * panel_rows(a->dv);
    if (t.some > 0) {
        score_pairs(t.some, a->dk, x->key_rows, q, t.s, x->spare);
        score_pairs(t.some, a->dv, x->value_rows, dout, t.ds, x->spare);
    }
    mask_turn(x, &t, first);
    differentiate_pairs(x, &t, 0, x->keys ? n : t.some);
    if (!x->queries || t.some == 0) return;
    close_pairs(t.ds, t.some);
    mix_pairs(n, t.some, a->dk, x->turned, t.ds, x->dq + i * PANEL * a->dk, x->spare);
}

#endif
