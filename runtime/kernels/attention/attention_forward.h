/* SPDX-License-Identifier: MIT
** Attention, forward: softmax(scale q k^T) v with an online softmax.
**
** A task is up to QUERIES queries of one head.  Its queries lie in panels (see
** attention_tile.h); for each tile of KEYS keys and each panel: scores, the new
** maximum, probabilities, and the output so far, rescaled, plus their mix of
** values.  Scores are in units of log 2 (q is multiplied by scale * log2 e when
** it is packed), so that probabilities are plain powers of two.
**
** attention.c and attention_shaped.c include this with SHAPED 0 and 1, so that problems
** without windows, caps and distances pay nothing for them.
*/
#ifndef STRATA_ATTENTION_FORWARD_H
#define STRATA_ATTENTION_FORWARD_H

#include "attention_tile.h"

typedef struct QueryPanel {
    float *q, *o;         /* [dk][PANEL] or of pairs, [dv][PANEL] */
    float *largest, *sum; /* [PANEL] */
    int64_t t, queries;   /* the first, how many */
} QueryPanel;

typedef struct Forward {
    const Attention *a;
    KeySource source;
    QueryPanel panel[QUERIES / PANEL];
    int64_t panels, row;  /* row: of the sequence's query 0 */
    float *k, *v;         /* copies of a tile's rows */
    float *score, *alpha; /* [KEYS][PANEL], [PANEL] */
    /* of pairs: a tile's keys, its values turned, and as they come */
    uint16_t *keys, *turned, *rows;
    float *spare;
    RowsAhead ahead;
} Forward;

/* Fewer queries a task while there are few tasks: results don't depend on it. */
static int64_t task_queries(const Attention *a) {
    int64_t size = QUERIES;
    while (size > PANEL && a->sequences * a->heads * ((a->time + size - 1) / size) < 16)
        size /= 2;
    return size;
}

/* New maxima are in the panel's 'largest'; s becomes 2^(s - largest), 'sum' follows, and
** 'alpha' is what the outputs so far must be multiplied by. */
INLINE void softmax(const int bf16, int64_t keys, const float *before, const QueryPanel *panel,
                    float *alpha, float *s) {
    V m0 = v_load(panel->largest), m1 = v_load(panel->largest + LANES);
    V a0 = v_exp2(v_load(before) - m0), a1 = v_exp2(v_load(before + LANES) - m1);
    V sum0 = v_load(panel->sum) * a0, sum1 = v_load(panel->sum + LANES) * a1;
    for (int64_t j = 0; j < keys; j++, s += PANEL) {
        V p0 = v_exp2(v_load(s) - m0), p1 = v_exp2(v_load(s + LANES) - m1);
        v_store(s, factor(bf16, p0));
        v_store(s + LANES, factor(bf16, p1));
        sum0 += p0;
        sum1 += p1;
    }
    v_store(panel->sum, sum0);
    v_store(panel->sum + LANES, sum1);
    v_store(alpha, a0);
    v_store(alpha + LANES, a1);
}

/* Maxima rise to the scores of rows from..to-1, some of which may be masked. */
static void raise(int64_t from, int64_t to, const float *s, float *largest) {
    V m0 = v_load(largest), m1 = v_load(largest + LANES);
    for (int64_t j = from; j < to; j++) {
        m0 = v_max(m0, v_load(s + j * PANEL));
        m1 = v_max(m1, v_load(s + j * PANEL + LANES));
    }
    v_store(largest, m0);
    v_store(largest + LANES, m1);
}

static void multiply_rows(int64_t n, const float *factor, float *s) {
    V f0 = v_load(factor), f1 = v_load(factor + LANES);
    if (__builtin_reduce_and((f0 == 1.0f) & (f1 == 1.0f))) return; /* no maximum rose */
    for (int64_t j = 0; j < n; j++, s += PANEL) {
        v_store(s, v_load(s) * f0);
        v_store(s + LANES, v_load(s + LANES) * f1);
    }
}

/* Scores of a tile's keys for the panel; maxima rise to those of the first 'all', which every query
** sees. */
static void score(const Forward *f, const QueryPanel *panel, int64_t all, int64_t some,
                  const float *k, int64_t ldk) {
    const Attention *a = f->a;
    if (SHAPED && !in_pairs(a)) {
        k_tile_score(some, a->dk, k, ldk, panel->q, f->score, NULL);
        return;
    }
    if (in_pairs(a)) {
        score_pairs(some, a->dk, f->keys, panel->q, f->score, f->spare);
        return;
    }
    k_tile_score(all, a->dk, k, ldk, panel->q, f->score, panel->largest);
    k_tile_score(some - all, a->dk, k + all * ldk, ldk, panel->q, f->score + all * PANEL, NULL);
}

/* The output so far, rescaled, and the values of 'some' keys of the tile's n, by their
** probabilities. */
static void mix(const Forward *f, const QueryPanel *panel, int64_t n, int64_t some, const float *v,
                int64_t ldv) {
    const Attention *a = f->a;
    if (!in_pairs(a)) {
        k_tile_mix(some, a->dv, v, ldv, f->score, f->alpha, panel->o);
        return;
    }
    pair_panel(some, f->score);
    multiply_rows(a->dv, f->alpha, panel->o);
    mix_pairs(n, some, a->dv, f->turned, f->score, panel->o, f->spare);
}

#if !SHAPED
#include "attention_forward_pairs.h"
#else
static void attend_pairs(Forward *f, int64_t i, int64_t first, int64_t n) {
    (void)f, (void)i, (void)first, (void)n;
}
#endif

/* n keys from 'first' on, whose rows are near, against one panel of head 'head'. */
static void attend(const Forward *f, const QueryPanel *panel, int64_t head, int64_t first,
                   int64_t n, NearRows x) {
    const Attention *a = f->a;
    int64_t all = visible(a, &f->source, panel->t, first, n);
    int64_t some = visible(a, &f->source, panel->t + panel->queries - 1, first, n);
    float before[PANEL];
    if (some == 0 || (SHAPED && first_seen(a, &f->source, panel->t) >= first + n)) return;
    v_store(before, v_load(panel->largest));
    v_store(before + LANES, v_load(panel->largest + LANES));
    score(f, panel, all, some, x.k, x.ldk);
    if (SHAPED) {
        k_shape_scores(
            &(Shaped){ a, &f->source, f->row, panel->t, panel->queries, head, first, some },
            f->score, NULL);
        raise(0, some, f->score, panel->largest);
    } else if (some > all) { /* on the diagonal */
        int32_t seen[PANEL];
        visible_to(a, &f->source, panel->t, first, seen);
        k_tile_mask(all, some, seen, score_unit(a), f->score);
        raise(all, some, f->score, panel->largest);
    }
    if (rounds(a)) softmax(1, some, before, panel, f->alpha, f->score);
    else softmax(0, some, before, panel, f->alpha, f->score);
    mix(f, panel, n, some, x.v, x.ldv);
}

enum { PANELS_AHEAD = 2 }; /* whose queries are asked for */

static const float *queries_at(const Attention *a, int64_t row, int64_t head) {
    return a->q + row * a->ldq + head * row_floats(a, a->dk);
}

static float *results_at(const Attention *a, int64_t row, int64_t head) {
    return a->o + row * a->ldo + head * row_floats(a, a->dv);
}

static void queries_ahead(const Attention *a, int64_t row, int64_t head, int64_t t, int64_t n) {
    if (n > 0)
        k_rows_soon(min64(PANEL, n), row_floats(a, a->dk), queries_at(a, row + t, head), a->ldq);
}

static void open_panels(Forward *f, int64_t row, int64_t head, int64_t t, int64_t end,
                        float *scratch) {
    const Attention *a = f->a;
    for (int64_t i = 0; i < PANELS_AHEAD; i++)
        queries_ahead(a, row, head, t + i * PANEL, end - t - i * PANEL);
    for (f->panels = 0; t < end; t += PANEL, f->panels++) {
        int64_t ahead = t + PANELS_AHEAD * PANEL;
        queries_ahead(a, row, head, ahead, end - ahead);
        QueryPanel *p = &f->panel[f->panels];
        p->t = t;
        p->queries = min64(PANEL, end - t);
        p->q = take(&scratch, panel_rows(a->dk) * PANEL);
        p->o = take(&scratch, a->dv * PANEL);
        p->largest = take(&scratch, PANEL);
        p->sum = take(&scratch, PANEL);
        const float *q = queries_at(a, row + t, head);
        if (in_pairs(a) && a->narrow) {
            k_pairs_panel(p->queries, a->dk, q, a->ldq, p->q);
        } else {
            k_panel_load(row_kind(a), p->queries, a->dk, q, a->ldq, query_unit(a), p->q);
            if (in_pairs(a)) pair_panel(a->dk, p->q);
        }
        for (int64_t i = 0; i < a->dv * PANEL; i += LANES)
            v_store(p->o + i, v_zero());
        for (int64_t i = 0; i < PANEL; i += LANES) {
            v_store(p->largest + i, v_splat(may_see_none(a) ? NOTHING : -__builtin_inff()));
            v_store(p->sum + i, v_zero());
        }
    }
}

static void close_panel(const Attention *a, const KeySource *s, const QueryPanel *p, int64_t row,
                        int64_t head) {
    float lse[PANEL], factor[PANEL];
    for (int64_t i = 0; i < PANEL; i += LANES) {
        V sum = v_load(p->sum + i);
        v_store(factor + i, 1.0f / sum);
        v_store(lse + i, v_fma(v_load(p->largest + i), v_splat(LN_2), v_log(sum)));
    }
    for (int64_t i = 0; may_see_none(a) && i < p->queries; i++)
        if (seen_by(a, s, p->t + i) == 0) factor[i] = 0, lse[i] = NOTHING;
    row += p->t;
    k_panel_store(a->narrow, p->queries, a->dv, p->o, factor, results_at(a, row, head), a->ldo);
    for (int64_t i = 0; a->lse && i < p->queries; i++)
        a->lse[(row + i) * a->ldlse + head] = lse[i];
}

/* What becomes the results of all panels. */
static void results_ahead(Forward *f, int64_t head) {
    const Attention *a = f->a;
    const QueryPanel *first = f->panel, *last = &f->panel[f->panels - 1];
    ahead_add(&f->ahead, last->t + last->queries - first->t, row_floats(a, a->dv),
              results_at(a, f->row + first->t, head), a->ldo);
}

static void forward(Forward *f, int64_t head) {
    const Attention *a = f->a;
    const KeySource *s = &f->source;
    const QueryPanel *last = &f->panel[f->panels - 1];
    int64_t end = visible(a, s, last->t + last->queries - 1, 0, s->count);
    int64_t n, begin = SHAPED ? first_seen(a, s, f->panel[0].t) / KEYS * KEYS : 0;
    for (int64_t first = begin; first < end; first += n) {
        n = min64(KEYS, end - first);
        if (SHAPED && s->ring) n = in_a_row(s, first, min64(n, KEYS - first % KEYS));
        NearRows x = k_keys_near(a, s, first, n, f->k, f->v);
        if (in_pairs(a)) {
            left_operand(a, n, a->dk, x.k, x.ldk, f->keys);
            left_operand(a, n, a->dv, x.v, x.ldv, f->rows);
            k_pairs_turn(n, a->dv, f->rows, f->turned);
        }
        if (in_pairs(a)) {
            ahead_clear(&f->ahead);
            source_ahead(a, s, first + n, min64(KEYS, end - first - n), &f->ahead);
            if (first == begin) results_ahead(f, head);
        }
        for (int64_t i = 0; i < f->panels; i++) {
            if (in_pairs(a)) ahead_ask(&f->ahead, f->panels - i);
            if (!SHAPED && in_pairs(a)) attend_pairs(f, i, first, n);
            else attend(f, &f->panel[i], head, first, n, x);
        }
    }
}

static void attention_task(const Attention *a, int64_t task, float *scratch) {
    int64_t size = task_queries(a), tiles = (a->time + size - 1) / size;
    int64_t t = (tiles - 1 - task / (a->sequences * a->heads)) * size; /* the longest first */
    int64_t b = task / a->heads % a->sequences, head = task % a->heads, row = query_row(a, b),
            end = min64(t + size, queries_of(a, b));
    if (t >= end) return;
    Forward f = { .a = a,
                  .row = row,
                  .source = k_attention_source(a, b, head / (a->heads / a->groups)) };
    f.k = take(&scratch, KEYS * padded(a->dk));
    f.v = take(&scratch, KEYS * padded(a->dv));
    f.score = take(&scratch, KEYS * PANEL);
    f.alpha = take(&scratch, PANEL);
    if (in_pairs(a)) {
        f.keys = take_bf16(&scratch, KEYS * whole_steps(a->dk));
        f.rows = take_bf16(&scratch, KEYS * whole_steps(a->dv));
        f.turned = take_bf16(&scratch, KEYS * a->dv);
        f.spare = take(&scratch, k_pairs_spare());
    }
    open_panels(&f, row, head, t, end, scratch);
    if (in_pairs(a)) k_pairs_begin();
    forward(&f, head);
    if (in_pairs(a)) k_pairs_end();
    for (int64_t i = 0; i < f.panels; i++)
        close_panel(a, &f.source, &f.panel[i], row, head);
}

#endif
