/* SPDX-License-Identifier: MIT
** Shared by forward and backward attention: a tile of KEYS keys against a panel of PANEL queries.
**
** A panel holds queries side by side, one per lane: [d][PANEL] floats.  Scores of a tile are
** [key][PANEL].  A softmax over keys therefore never adds across lanes, every query has a lane of
** its own (its bits depend on no other query), and every product uses the same micro-kernel:
** broadcast one operand, multiply by two vectors of the other, accumulate in registers.
**
** With products of bfloat16, operands are rounded when they are loaded into panels, and the same
** micro-kernels are used; if the processor multiplies pairs of bfloat16 numbers, those of
** attention_pairs.h are used with the same tiles and panels.
**
** Tiles start at multiples of KEYS and blocks of queries at multiples of BLOCK, counted from the
** start of a sequence, so that results do not depend on the split into tasks.
*/
#ifndef STRATA_ATTENTION_TILE_H
#define STRATA_ATTENTION_TILE_H

#include "attention_ahead.h"
#include "attention_kept.h"
#include "kernels.h"
#include "attention_pairs.h"
#include "scratch.h"
#include "transpose.h"
#include "vmath.h"

enum {
    PANEL = 2 * LANES,
    KEYS = STRATA_TILES ? 64 : 96,
    BLOCK = 128,                        /* queries of a backward block */
    QUERIES = STRATA_TILES ? 512 : 256, /* queries of a forward task, at most */
    OWN_FLOATS = 1 << 17 /* of a backward task's keys, values and their gradients, copied */
};

/* Whether this problem's products are of pairs; a constant no in most libraries. */
INLINE int in_pairs(const Attention *a) { return STRATA_PAIRS && a->bf16; }

/* Whether what is multiplied is rounded here, as it is brought near; pairs are rounded as they are
** made. */
INLINE int rounds(const Attention *a) { return !STRATA_PAIRS && a->bf16; }

INLINE void clear_rows(int64_t n, int64_t d, float *rows, int64_t ld) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e++)
            rows[t * ld + e] = 0;
}

/* What turns scores into units of log 2: queries are multiplied by it as they are packed, or, of
** pairs, which are rounded unscaled, the scores are. */
INLINE float query_unit(const Attention *a) { return in_pairs(a) ? 1.0f : a->scale * LOG2_E; }
INLINE float score_unit(const Attention *a) { return in_pairs(a) ? a->scale * LOG2_E : 1.0f; }

/* How rows of q, k, v and dout are brought near: as they are, rounded, or made of bfloat16s. */
typedef enum RowKind { ROWS_F32, ROWS_ROUNDED, ROWS_BF16 } RowKind;
INLINE RowKind row_kind(const Attention *a) {
    return a->narrow ? ROWS_BF16 : rounds(a) ? ROWS_ROUNDED : ROWS_F32;
}

/* Floats that d numbers of such a row take in memory. */
INLINE int64_t row_floats(const Attention *a, int64_t d) { return a->narrow ? d / 2 : d; }

/* Steps of a left operand of pairs, and rows of a panel of d steps that becomes one of pairs. */
INLINE int64_t whole_steps(int64_t n) { return (n + PAIR_STEPS - 1) / PAIR_STEPS * PAIR_STEPS; }
INLINE int64_t panel_rows(int64_t d) {
    return STRATA_PAIRS && d < PAIR_STEPS / 2 ? PAIR_STEPS / 2 : d;
}

/* Rows of d floats are kept this far apart in scratch, zeros at the end. */
INLINE int64_t padded(int64_t d) { return (d + LANES - 1) / LANES * LANES; }

/* The keys and values of one group of one sequence. */
typedef struct KeySource {
    const float *k, *v;
    int64_t ldk, ldv;    /* floats between rows */
    int kept;            /* how rows are kept, KEPT_.. */
    int64_t past;        /* positions before query 0 */
    int64_t count;       /* all keys */
    int pooled;          /* keys are averages of the rows, to be computed */
    int ready;           /* they are factors already */
    const int32_t *sees; /* Attention.sees, from query 0 on; NULL: query t sees t + 1 */
    /* of a ring of so many rows; 0: it is none.  Positions from 'past' on are rows of the call */
    int64_t ring;
    const float *own_k, *own_v;
} KeySource;

/* Takes room for n bfloat16s. */
INLINE uint16_t *take_bf16(float **scratch, int64_t n) {
    return (uint16_t *)take(scratch, (n + 1) / 2);
}

/* The first row of a sequence's queries, and how many there are; of its keys in this call. */
INLINE int64_t query_row(const Attention *a, int64_t b) {
    return a->first ? a->first[b] : b * a->time;
}
INLINE int64_t queries_of(const Attention *a, int64_t b) {
    return a->first ? a->first[b + 1] - a->first[b] : a->time;
}
INLINE int64_t key_row(const Attention *a, int64_t b) {
    return a->first_key ? a->first_key[b] : b * a->time;
}
INLINE int64_t keys_of(const Attention *a, int64_t b) {
    return a->first_key ? a->first_key[b + 1] - a->first_key[b] : a->time;
}

/* Largest score and log-sum-exp of a query that sees nothing. */
#define NOTHING (-1e30f)

/* How many keys query t sees. */
INLINE int64_t seen_by(const Attention *a, const KeySource *s, int64_t t) {
    if (!a->causal) return s->count;
    if (a->pool) return (s->past + t) / a->pool;
    return s->past + (s->sees ? s->sees[t] : t + 1);
}

/* Whether a query may see nothing, of a tile at least. */
INLINE int may_see_none(const Attention *a) {
    return a->pool || a->sees || a->window || (a->first_key && !a->causal);
}

/* The first key that query t sees. */
INLINE int64_t first_seen(const Attention *a, const KeySource *s, int64_t t) {
    return a->window ? max64(0, s->past + t + 1 - a->window) : 0;
}

/* Of keys from 'first' on, how many of n lie one after another: all but in a ring, which ends. */
INLINE int64_t in_a_row(const KeySource *s, int64_t first, int64_t n) {
    if (!s->ring || first >= s->past) return n;
    return min64(n, min64(s->past - first, s->ring - first % s->ring));
}

/* The first of n floats of rows from a position of a ring on, or of a cache. */
INLINE int64_t slot_of(const KeySource *s, int64_t position) {
    return s->ring ? position % s->ring : position;
}

/* How many of the n keys from 'first' on query t sees. */
INLINE int64_t visible(const Attention *a, const KeySource *s, int64_t t, int64_t first,
                       int64_t n) {
    return max64(0, min64(n, seen_by(a, s, t) - first));
}

/* The same for a panel from query t on, not cut to a tile: lanes[PANEL]. */
INLINE void visible_to(const Attention *a, const KeySource *s, int64_t t, int64_t first,
                       int32_t *lanes) {
    for (int64_t i = 0; i < PANEL; i++)
        lanes[i] = (int32_t)(seen_by(a, s, t + i) - first);
}

KeySource k_attention_source(const Attention *a, int64_t sequence, int64_t group);

/* s[keys][PANEL] = k[keys][d] . x[d][PANEL]; if 'largest' is given, it rises to
** the largest score of each lane. */
void k_tile_score(int64_t keys, int64_t d, const float *k, int64_t ldk, const float *x, float *s,
                  float *largest);
/* y[d][PANEL] = y * alpha[PANEL] + sum over keys of v[key][d] p[key][PANEL] */
void k_tile_mix(int64_t keys, int64_t d, const float *v, int64_t ldv, const float *p,
                const float *alpha, float *y);
/* y[keys][d] += sum over queries of p[key][query] x[query][d], for BLOCK queries in
** panels [KEYS][PANEL], x rows padded(d) apart; panel i's queries see count[i] keys. */
void k_tile_back(int64_t keys, int64_t d, int64_t panels, const int64_t *count, const float *p,
                 const float *x, float *y, int64_t ldy);
/* On the diagonal, where lane i sees seen[i] of the tile's keys: scores of rows
** from..to-1 times 'unit', -inf where a lane does not see them. */
void k_tile_mask(int64_t from, int64_t to, const int32_t *seen, float unit, float *s);

/* x, or what products of bfloat16 leave of it; 'bf16' is a constant where inlined. */
INLINE V factor(const int bf16, V x) { return bf16 ? v_bf16(x) : x; }

/* panel[d][PANEL] = scale * rows[n][d], n <= PANEL, zeros for the other lanes */
void k_panel_load(RowKind kind, int64_t n, int64_t d, const float *rows, int64_t ld, float scale,
                  float *panel);
/* rows[n][d] = factor[PANEL] * panel[d][PANEL]; 'narrow': rounded to rows of bfloat16s */
void k_panel_store(int narrow, int64_t n, int64_t d, const float *panel, const float *factor,
                   float *rows, int64_t ld);
/* out[n][d] = scale * rows[n][d], out's rows padded(d) apart */
void k_rows_load(RowKind kind, int64_t n, int64_t d, const float *rows, int64_t ld, float scale,
                 float *out);
/* Asks for rows that will be needed some thousand cycles later; any address will do. */
void k_rows_soon(int64_t n, int64_t d, const float *rows, int64_t ld);
/* Keys (or values) first..first+n-1 of a source, as they are multiplied or made pairs: its rows, as
** they are if nothing lies between them, else their copy, or their averages; sets *ld. Whatever a
** cache keeps that is no float32 is widened here, or what is rounded as caches do. If rows lie
** apart, the n after them are asked for, but for pairs: these say themselves what comes next. */
const float *k_source_near(const Attention *a, const KeySource *s, int64_t first, int64_t n,
                           int64_t d, const float *rows, int64_t *ld, float *copy);
/* Adds gradients of the averages first..first+n-1, padded(d) apart, to those of rows. */
void k_pool_back(const Attention *a, int64_t first, int64_t n, int64_t d, const float *average,
                 float *rows, int64_t ld);

/* Of rows of a source that lie apart, keys and values first..first+n-1 are needed soon. */
INLINE void source_ahead(const Attention *a, const KeySource *s, int64_t first, int64_t n,
                         RowsAhead *x) {
    n = min64(n, s->count - first);
    if (s->pooled || s->ring || s->kept) return;
    if (s->ldk != a->dk) ahead_add(x, n, row_floats(a, a->dk), s->k + first * s->ldk, s->ldk);
    if (s->ldv != a->dv) ahead_add(x, n, row_floats(a, a->dv), s->v + first * s->ldv, s->ldv);
}

/* Keys and values that are near, as k_source_near has them. */
typedef struct NearRows {
    const float *k, *v;
    int64_t ldk, ldv;
} NearRows;
/* Those of a source's rows from 'at' on. */
NearRows k_rows_near(const Attention *a, const KeySource *s, int64_t at, int64_t n, float *copy_k,
                     float *copy_v);
/* Those of positions from 'first' on, which of a ring may be in it, or rows of the call. */
NearRows k_keys_near(const Attention *a, const KeySource *s, int64_t first, int64_t n,
                     float *copy_k, float *copy_v);

/* attention_shape.c: a panel of queries, head 'head' of those from t on, against a tile of keys */
typedef struct Shaped {
    const Attention *a;
    const KeySource *source;
    int64_t row, t, queries, head; /* row: of the sequence's query 0; queries: at most PANEL */
    int64_t first, n;              /* keys */
} Shaped;
/* Products s[n][PANEL] become scores in units of log 2: capped, with what distances add, -inf where
** a query does not see the key.  'slope' [n][PANEL], or NULL: what the cap leaves of cotangents. */
void k_shape_scores(const Shaped *x, float *s, float *slope);
/* The gradient of by_distance from that of scores. */
void k_shape_distances(const Shaped *x, const float *ds);
/* Cotangents of scores become those of products, rounded if 'bf16', as the n rows of p are. */
void k_shape_back(const Shaped *x, int bf16, const float *slope, float *p, float *ds);
/* s[n] of one query, those of keys from 'first' on: the same, but all are seen. */
void k_shape_row(const Shaped *x, float *s);

/* attention_shaped.c, attention_few_shaped.c, attention_grad_shaped.c */
void k_attention_shaped(const Attention *a, int64_t task, float *scratch);
void k_attention_few_shaped(const Attention *a, int64_t task, float *scratch);
void k_attention_grad_shaped(const Attention *a, int64_t task, float *scratch);

/* Products of pairs, of a tile of KEYS keys.  s[keys][PANEL] = rows[keys][d] . panel[d][PANEL], and
** some keys more, of which nothing is known, up to whole PAIR_ROWS. */
INLINE void score_pairs(int64_t keys, int64_t d, const uint16_t *rows, const float *panel, float *s,
                        float *spare) {
    int64_t whole = (keys + PAIR_ROWS - 1) / PAIR_ROWS * PAIR_ROWS;
    k_pairs_multiply(whole, whole_steps(d), rows, whole_steps(d), panel, s, PANEL, PANEL, 0, spare);
}

/* n rows of a source become one: out[n][d up to a multiple of PAIR_STEPS] */
INLINE void left_operand(const Attention *a, int64_t n, int64_t d, const float *rows, int64_t ld,
                         uint16_t *out) {
    if (a->narrow) k_pairs_copy(n, d, rows, ld, out);
    else k_pairs_rows(n, d, rows, ld, out);
}

/* y[d][PANEL] += turned[d][some of n keys] . p[some][PANEL], a panel of pairs */
INLINE void mix_pairs(int64_t n, int64_t some, int64_t d, const uint16_t *turned, const float *p,
                      float *y, float *spare) {
    k_pairs_multiply(d, whole_steps(some), turned, whole_steps(n), p, y, PANEL, PANEL, 1, spare);
}

/* Rows j and j + 1 of a panel that becomes one of pairs. */
INLINE void store_pairs(float *panel, int64_t j, V even0, V even1, V odd0, V odd1) {
    v_store(panel + j / 2 * PANEL, v_pairs(even0, odd0));
    v_store(panel + j / 2 * PANEL + LANES, v_pairs(even1, odd1));
}

/* Zeros behind n rows of a panel of pairs, up to PAIR_STEPS. */
INLINE void close_pairs(float *panel, int64_t n) {
    for (int64_t i = (n + 1) / 2 * PANEL; i < whole_steps(n) / 2 * PANEL; i += LANES)
        v_store(panel + i, v_zero());
}

/* A panel of n rows becomes one of pairs. */
INLINE void pair_panel(int64_t n, float *panel) {
    for (int64_t j = 0; j < n; j += 2) {
        const float *even = panel + j * PANEL, *odd = even + PANEL;
        int both = j + 1 < n;
        store_pairs(panel, j, v_load(even), v_load(even + LANES), both ? v_load(odd) : v_zero(),
                    both ? v_load(odd + LANES) : v_zero());
    }
    close_pairs(panel, n);
}

/* attention_few.c: 'time' <= ATTENTION_FEW with caches */
int64_t k_attention_few_tasks(const Attention *a);
void k_attention_few(const Attention *a, int64_t task, float *scratch);
int64_t k_attention_few_floats(int64_t d);

#endif
