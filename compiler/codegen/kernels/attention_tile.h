/*
** What forward and backward attention share: a tile of KEYS keys against a
** panel of PANEL queries.
**
** A panel holds queries side by side, one a lane: [d][PANEL] floats.  Scores
** of a tile are [key][PANEL].  So a softmax over keys never adds across lanes,
** every query is a lane of its own (its bits depend on no other query), and
** every product is the same micro-kernel: broadcast one operand, multiply by
** two vectors of the other, accumulate in registers.
**
** Tiles start at multiples of KEYS and blocks of queries at multiples of
** BLOCK, counted from a sequence's start: results don't depend on the split
** into tasks.
*/
#ifndef STRATA_ATTENTION_TILE_H
#define STRATA_ATTENTION_TILE_H

#include "kernels.h"
#include "vmath.h"

enum {
    PANEL = 2 * LANES,
    KEYS = 96,
    BLOCK = 128,            /* queries of a backward block */
    QUERIES = 256,          /* queries of a forward task, at most */
    FEW = 4                 /* queries, at most, that attend one by one (decoding) */
};

/* Rows of d floats are kept this far apart in scratch, zeros at the end. */
INLINE int64_t padded(int64_t d) { return (d + LANES - 1) / LANES * LANES; }

/* Takes n floats of scratch, aligned to 64 bytes. */
INLINE float *take(float **scratch, int64_t n)
{
    float *at = *scratch;
    *scratch += (n + 15) / 16 * 16;
    return at;
}

/* The keys and values of one group of one sequence. */
typedef struct Source {
    const float *k, *v;
    int64_t ldk, ldv;
    int64_t past;           /* positions before query 0 */
    int64_t count;          /* all keys */
    int pooled;             /* keys are averages of the rows, to be computed */
} Source;

INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* Largest score and log-sum-exp of a query that sees nothing. */
#define NOTHING (-1e30f)

/* How many keys query t sees. */
INLINE int64_t seen_by(const Attention *a, const Source *s, int64_t t)
{
    if (!a->causal)
        return s->count;
    return a->pool ? (s->past + t) / a->pool : s->past + t + 1;
}

/* How many of the n keys from 'first' on query t sees. */
INLINE int64_t visible(const Attention *a, const Source *s, int64_t t, int64_t first, int64_t n)
{
    return max64(0, min64(n, seen_by(a, s, t) - first));
}

/* The same for a panel from query t on, not cut to a tile: lanes[PANEL]. */
INLINE void visible_to(const Attention *a, const Source *s, int64_t t, int64_t first, int32_t *lanes)
{
    for (int64_t i = 0; i < PANEL; i++)
        lanes[i] = (int32_t)(seen_by(a, s, t + i) - first);
}

Source k_attention_source(const Attention *a, int64_t sequence, int64_t group);

/* s[keys][PANEL] = k[keys][d] . x[d][PANEL]; if 'largest' is given, it rises to
** the largest score of each lane. */
void k_tile_score(int64_t keys, int64_t d, const float *k, int64_t ldk, const float *x, float *s, float *largest);
/* y[d][PANEL] = y * alpha[PANEL] + sum over keys of v[key][d] p[key][PANEL] */
void k_tile_mix(int64_t keys, int64_t d, const float *v, int64_t ldv, const float *p, const float *alpha, float *y);
/* y[keys][d] += sum over queries of p[key][query] x[query][d], for BLOCK queries in
** panels [KEYS][PANEL], x rows padded(d) apart; panel i's queries see count[i] keys. */
void k_tile_back(int64_t keys, int64_t d, int64_t panels, const int64_t *count, const float *p, const float *x,
                 float *y, int64_t ldy);
/* On the diagonal, where lane i sees seen[i] of the tile's keys: scores of rows
** from..to-1 that a lane does not see become -inf. */
void k_tile_mask(int64_t from, int64_t to, const int32_t *seen, float *s);

/* panel[d][PANEL] = scale * rows[n][d], n <= PANEL, zeros for the other lanes */
void k_panel_load(int64_t n, int64_t d, const float *rows, int64_t ld, float scale, float *panel);
/* rows[n][d] = factor[PANEL] * panel[d][PANEL] */
void k_panel_store(int64_t n, int64_t d, const float *panel, const float *factor, float *rows, int64_t ld);
/* out[n][d] = scale * rows[n][d], out's rows padded(d) apart */
void k_rows_load(int64_t n, int64_t d, const float *rows, int64_t ld, float scale, float *out);
/* Asks for rows that will be needed some thousand cycles later; any address will do. */
void k_rows_soon(int64_t n, int64_t d, const float *rows, int64_t ld);
/* Rows as they are if nothing lies between them, else their copy; sets *ld.  If they
** lie apart, the n rows after them are asked for. */
const float *k_rows_near(int64_t n, int64_t d, const float *rows, int64_t *ld, float *copy);
/* Keys (or values) first..first+n-1 of a source: its rows or their averages. */
const float *k_source_near(const Attention *a, const Source *s, int64_t first, int64_t n, int64_t d, const float *rows,
                           int64_t *ld, float *copy);
/* Adds gradients of the averages first..first+n-1, padded(d) apart, to those of rows. */
void k_pool_back(const Attention *a, int64_t first, int64_t n, int64_t d, const float *average, float *rows, int64_t ld);

/* attention_few.c: 'time' <= FEW with caches */
int64_t k_attention_few_tasks(const Attention *a);
void k_attention_few(const Attention *a, int64_t task, float *scratch);
int64_t k_attention_few_floats(int64_t d);

#endif
