/*
** Attention, forward: softmax(scale q k^T) v with an online softmax.
**
** A task is up to QUERIES queries of one head.  Its queries lie in panels (see
** attention_tile.h); for each tile of KEYS keys and each panel: scores, the new
** maximum, probabilities, and the output so far, rescaled, plus their mix of
** values.  Scores are in units of log 2 (q is multiplied by scale * log2 e when
** it is packed), so that probabilities are plain powers of two.
*/
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
    int64_t panels;
    float *k, *v;         /* copies of a tile's rows */
    float *score, *alpha; /* [KEYS][PANEL], [PANEL] */
    /* of pairs: a tile's keys, its values turned, and as they come */
    uint16_t *keys, *turned, *rows;
    float *spare;
} Forward;

/* Left operands of a tile of pairs, and what their products need. */
static int64_t pair_floats(int64_t d) {
    return STRATA_PAIRS ? 2 * KEYS * whole_steps(d) + KEYS * d + k_pairs_spare() + 80 : 0;
}

static int64_t forward_floats(int64_t d) {
    return 2 * KEYS * padded(d) + KEYS * PANEL + PANEL + QUERIES * (d + panel_rows(d) + 2) + 64
        + 64 * (QUERIES / PANEL) + pair_floats(d);
}

/* Backward: two tiles and their gradients, three panels and two sets of rows of a
** block, its scores; of pairs, these and the rows again. */
static int64_t backward_floats(int64_t d) {
    int64_t again = STRATA_PAIRS ? KEYS * BLOCK + 2 * k_pairs_block_floats(d, BLOCK) + 64 : 0;
    return 4 * KEYS * padded(d) + 2 * KEYS * BLOCK + BLOCK * (d + 2 * panel_rows(d))
        + 2 * BLOCK * padded(d) + 3 * BLOCK + 256 + pair_floats(d) + again;
}

int64_t k_attention_scratch(int64_t d) {
    int64_t floats = max64(max64(forward_floats(d), backward_floats(d)), k_attention_few_floats(d));
    return (floats + 15) / 16 * 64;
}

/* Fewer queries a task while there are few tasks: results don't depend on it. */
static int64_t task_queries(const Attention *a) {
    int64_t size = QUERIES;
    while (size > PANEL && a->sequences * a->heads * ((a->time + size - 1) / size) < 16)
        size /= 2;
    return size;
}

int64_t k_attention_tasks(const Attention *a) {
    if (a->keys && a->time <= FEW) return k_attention_few_tasks(a);
    int64_t size = task_queries(a);
    return a->sequences * a->heads * ((a->time + size - 1) / size);
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

/* Scores of pairs, n rows, in units of log 2; maxima rise to them. */
static void scale_and_raise(int64_t n, float unit, float *s, float *largest) {
    V m0 = v_load(largest), m1 = v_load(largest + LANES);
    for (int64_t j = 0; j < n; j++, s += PANEL) {
        V s0 = v_load(s) * unit, s1 = v_load(s + LANES) * unit;
        m0 = v_max(m0, s0);
        m1 = v_max(m1, s1);
        v_store(s, s0);
        v_store(s + LANES, s1);
    }
    v_store(largest, m0);
    v_store(largest + LANES, m1);
}

static void multiply_rows(int64_t n, const float *factor, float *s) {
    V f0 = v_load(factor), f1 = v_load(factor + LANES);
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
    if (in_pairs(a)) {
        score_pairs(some, a->dk, f->keys, panel->q, f->score, f->spare);
        scale_and_raise(all, score_unit(a), f->score, panel->largest);
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
    k_pairs_panel(some, f->score, f->score);
    multiply_rows(a->dv, f->alpha, panel->o);
    mix_pairs(n, some, a->dv, f->turned, f->score, panel->o, f->spare);
}

/* n keys from 'first' on, as rows k and v, against one panel. */
static void attend(const Forward *f, const QueryPanel *panel, int64_t first, int64_t n,
                   const float *k, int64_t ldk, const float *v, int64_t ldv) {
    const Attention *a = f->a;
    int64_t all = visible(a, &f->source, panel->t, first, n);
    int64_t some = visible(a, &f->source, panel->t + panel->queries - 1, first, n);
    float before[PANEL];
    if (some == 0) return;
    v_store(before, v_load(panel->largest));
    v_store(before + LANES, v_load(panel->largest + LANES));
    score(f, panel, all, some, k, ldk);
    if (some > all) { /* on the diagonal */
        int32_t seen[PANEL];
        visible_to(a, &f->source, panel->t, first, seen);
        k_tile_mask(all, some, seen, score_unit(a), f->score);
        raise(all, some, f->score, panel->largest);
    }
    if (rounds(a)) softmax(1, some, before, panel, f->alpha, f->score);
    else softmax(0, some, before, panel, f->alpha, f->score);
    mix(f, panel, n, some, v, ldv);
}

static void open_panels(Forward *f, int64_t row, int64_t head, int64_t t, int64_t end,
                        float *scratch) {
    const Attention *a = f->a;
    for (f->panels = 0; t < end; t += PANEL, f->panels++) {
        QueryPanel *p = &f->panel[f->panels];
        p->t = t;
        p->queries = min64(PANEL, end - t);
        p->q = take(&scratch, panel_rows(a->dk) * PANEL);
        p->o = take(&scratch, a->dv * PANEL);
        p->largest = take(&scratch, PANEL);
        p->sum = take(&scratch, PANEL);
        k_panel_load(rounds(a), p->queries, a->dk, a->q + (row + t) * a->ldq + head * a->dk, a->ldq,
                     query_unit(a), p->q);
        if (in_pairs(a)) k_pairs_panel(a->dk, p->q, p->q);
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
    k_panel_store(p->queries, a->dv, p->o, factor, a->o + row * a->ldo + head * a->dv, a->ldo);
    for (int64_t i = 0; a->lse && i < p->queries; i++)
        a->lse[(row + i) * a->ldlse + head] = lse[i];
}

static void forward(Forward *f) {
    const Attention *a = f->a;
    const KeySource *s = &f->source;
    const QueryPanel *last = &f->panel[f->panels - 1];
    int64_t end = visible(a, s, last->t + last->queries - 1, 0, s->count);
    for (int64_t first = 0; first < end; first += KEYS) {
        int64_t n = min64(KEYS, end - first), ldk = s->ldk, ldv = s->ldv;
        const float *k = k_source_near(a, s, first, n, a->dk, s->k, &ldk, f->k);
        const float *v = k_source_near(a, s, first, n, a->dv, s->v, &ldv, f->v);
        if (in_pairs(a)) {
            k_pairs_rows(n, a->dk, k, ldk, f->keys);
            k_pairs_rows(n, a->dv, v, ldv, f->rows);
            k_pairs_turn(n, a->dv, f->rows, f->turned);
        }
        for (int64_t i = 0; i < f->panels; i++)
            attend(f, &f->panel[i], first, n, k, ldk, v, ldv);
    }
}

void k_attention(const Attention *a, int64_t task, float *scratch) {
    if (a->keys && a->time <= FEW) {
        k_attention_few(a, task, scratch);
        return;
    }
    int64_t size = task_queries(a), tiles = (a->time + size - 1) / size;
    int64_t t = (tiles - 1 - task / (a->sequences * a->heads)) * size; /* the longest first */
    int64_t b = task / a->heads % a->sequences, head = task % a->heads, row = query_row(a, b),
            end = min64(t + size, queries_of(a, b));
    if (t >= end) return;
    Forward f = { .a = a, .source = k_attention_source(a, b, head / (a->heads / a->groups)) };
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
    forward(&f);
    for (int64_t i = 0; i < f.panels; i++)
        close_panel(a, &f.source, &f.panel[i], row, head);
}

/* What a cache keeps of a finished row. */
INLINE float kept(const int bf16, float x) { return factor(bf16, v_splat(x))[0]; }

INLINE void copy_rows(const int bf16, int64_t n, int64_t d, const float *from, int64_t ld,
                      float *to) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e++)
            to[t * d + e] = kept(bf16, from[t * ld + e]);
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
            sum[e] = last ? kept(a->bf16, x) : x;
        }
    }
}

static void append_rows(const Attention *a, int64_t b, int64_t d, const float *from, int64_t ld,
                        float *cache) {
    int64_t n = keys_of(a, b);
    if (a->pool) pool_rows(a, n, d, from, ld, a->past[b], cache);
    else if (a->bf16) copy_rows(1, n, d, from, ld, cache + a->past[b] * d);
    else copy_rows(0, n, d, from, ld, cache + a->past[b] * d);
}

void k_attention_append(const Attention *a, int64_t b) {
    for (int64_t g = 0; g < a->groups; g++) {
        int64_t row = key_row(a, b), at = g * a->context;
        append_rows(a, b, a->dk, a->k + row * a->ldk + g * a->dk, a->ldk, a->keys[b] + at * a->dk);
        append_rows(a, b, a->dv, a->v + row * a->ldv + g * a->dv, a->ldv,
                    a->values[b] + at * a->dv);
    }
}
