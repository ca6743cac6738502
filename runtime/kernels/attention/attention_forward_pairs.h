/* SPDX-License-Identifier: MIT
** Forward attention with products of pairs: what attention_forward.h does for a panel and a tile of
** keys.  Scores stay as they are multiplied, and become probabilities and pairs of them at once.
*/
#ifndef STRATA_ATTENTION_FORWARD_PAIRS_H
#define STRATA_ATTENTION_FORWARD_PAIRS_H

/* One panel against a tile of keys; s: scores [KEYS][PANEL], then probabilities, pairs. */
typedef struct ForwardTurn {
    const QueryPanel *panel;
    int64_t all, some; /* keys that all of its queries see, that any of them sees */
    float *s, alpha[PANEL];
} ForwardTurn;

/* Maxima rise to 'unit' times the scores of n rows: in turns, as one maximum waits for another. */
static void raise_scaled(int64_t n, float unit, const float *s, float *largest) {
    V m[4][2];
    UNROLL for (int i = 0; i < 4; i++) UNROLL for (int c = 0; c < 2; c++)
        m[i][c] = v_load(largest + c * LANES);
    int64_t j = 0;
    for (; j + 4 <= n; j += 4)
        UNROLL for (int i = 0; i < 4; i++) UNROLL for (int c = 0; c < 2; c++)
            m[i][c] = v_max(m[i][c], v_load(s + (j + i) * PANEL + c * LANES) * unit);
    for (; j < n; j++)
        UNROLL for (int c = 0; c < 2; c++)
            m[0][c] = v_max(m[0][c], v_load(s + j * PANEL + c * LANES) * unit);
    UNROLL for (int c = 0; c < 2; c++)
        v_store(largest + c * LANES, v_max(v_max(m[0][c], m[1][c]), v_max(m[2][c], m[3][c])));
}

/* New maxima are in the panel's 'largest': what the sums and outputs so far are multiplied by. */
static void rescale_sum(const float *before, const QueryPanel *panel, float *alpha) {
    for (int64_t i = 0; i < PANEL; i += LANES) {
        V a = v_exp2(v_load(before + i) - v_load(panel->largest + i));
        v_store(panel->sum + i, v_load(panel->sum + i) * a);
        v_store(alpha + i, a);
    }
}

INLINE V probability(const float *score, float unit, V largest) {
    return v_exp2(v_fma(v_load(score), v_splat(unit), -largest));
}

/* Scores of keys [from, to), those of the first 'all' times 'unit', become probabilities, in pairs;
** 'from' is even. */
static void softmax_pairs(int64_t from, int64_t to, int64_t all, float unit,
                          const QueryPanel *panel, float *s) {
    V m0 = v_load(panel->largest), m1 = v_load(panel->largest + LANES);
    V sum0 = v_load(panel->sum), sum1 = v_load(panel->sum + LANES);
    for (int64_t j = from; j < to; j += 2) {
        const float *at = s + j * PANEL, *next = at + PANEL;
        float u0 = j < all ? unit : 1.0f, u1 = j + 1 < all ? unit : 1.0f;
        V even0 = probability(at, u0, m0), even1 = probability(at + LANES, u0, m1), odd0 = v_zero(),
          odd1 = v_zero();
        if (j + 1 < to) odd0 = probability(next, u1, m0), odd1 = probability(next + LANES, u1, m1);
        sum0 = sum0 + even0 + odd0;
        sum1 = sum1 + even1 + odd1;
        store_pairs(s, j, even0, even1, odd0, odd1);
    }
    v_store(panel->sum, sum0);
    v_store(panel->sum + LANES, sum1);
}

static ForwardTurn open_turn(const Forward *f, int64_t i, int64_t first, int64_t n) {
    const QueryPanel *p = &f->panel[i];
    return (ForwardTurn){ .panel = p,
                          .all = visible(f->a, &f->source, p->t, first, n),
                          .some = visible(f->a, &f->source, p->t + p->queries - 1, first, n),
                          .s = f->score };
}

/* All scores of the panel are there: maxima rise to them. */
static void raise_turn(const Forward *f, ForwardTurn *x, int64_t first) {
    float before[PANEL], *largest = x->panel->largest;
    v_store(before, v_load(largest));
    v_store(before + LANES, v_load(largest + LANES));
    raise_scaled(x->all, score_unit(f->a), x->s, largest);
    if (x->some > x->all) { /* on the diagonal */
        int32_t seen[PANEL];
        visible_to(f->a, &f->source, x->panel->t, first, seen);
        k_tile_mask(x->all, x->some, seen, score_unit(f->a), x->s);
        raise(x->all, x->some, x->s, largest);
    }
    rescale_sum(before, x->panel, x->alpha);
}

/* n keys from 'first' on against panel i, of whose queries some see none of them. */
static void attend_pairs(Forward *f, int64_t i, int64_t first, int64_t n) {
    const Attention *a = f->a;
    ForwardTurn x = open_turn(f, i, first, n);
    if (x.some == 0) return;
    score_pairs(x.some, a->dk, f->keys, x.panel->q, x.s, f->spare);
    raise_turn(f, &x, first);
    softmax_pairs(0, x.some, x.all, score_unit(a), x.panel, x.s);
    close_pairs(x.s, x.some);
    multiply_rows(a->dv, x.alpha, x.panel->o);
    mix_pairs(n, x.some, a->dv, f->turned, x.s, x.panel->o, f->spare);
}

#endif
