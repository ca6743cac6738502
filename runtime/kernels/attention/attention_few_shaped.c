/* SPDX-License-Identifier: MIT
** Attention of a few queries to a cache, for problems with shaped scores.
**
** The heads of a group (for latents, all heads) see the same keys, so their products are matrix
** products.  A tile of keys stays in the second-level cache while it is multiplied by all rows of
** the task: some of its keys at a time are in the first-level cache, and ROWS_TOGETHER rows at a
** time in registers.  Its values follow in the same way, some columns at a time.  The next tile's
** keys are prefetched meanwhile.
*/
#include "attention_few.h"
#include "row_parts.h"

/* KEYS_ONCE keys, or VECTORS_ONCE vectors of values, meet ROWS_TOGETHER rows in registers; floats
** of keys that stay in the first-level cache, and in the second. */
#if LANES == 16
enum { ROWS_TOGETHER = 4 };
#define TOGETHER_CASES(X) X(1) X(2) X(3) X(4)
#else
enum { ROWS_TOGETHER = 3 };
#define TOGETHER_CASES(X) X(1) X(2) X(3)
#endif
enum { KEYS_ONCE = 4, VECTORS_ONCE = 4 };
enum { NEAR_FLOATS = 4608, TILE_FLOATS = 36864 };

/* The next tile, asked for evenly while this one works: every STEPS_ONCE steps the lines that begin
** in the next 'pace' floats. */
typedef struct NextTile {
    const float *at;
    int64_t pace, due;
} NextTile;

/* Steps that follow one another without a question: they and loops cost as much as multiply-adds do
** where the processor takes few instructions in a cycle. */
enum { STEPS_ONCE = 4 };

INLINE void shaped_ask(NextTile *x) {
    x->due += x->pace;
    _Pragma("clang loop unroll(disable) vectorize(disable)") while (x->due > 0) {
        __builtin_prefetch(x->at, 0, 2);
        x->at += LINE_FLOATS, x->due -= LINE_FLOATS;
    }
}

/* Rows of one token, which see n keys of the tile at work from its key 'from' on. */
typedef struct RowGroup {
    Row *row;
    float *s; /* [count][TILE] */
    int64_t count, from, n;
} RowGroup;

typedef struct FewTask {
    const Attention *a;
    const KeySource *source;
    float *room; /* for a tile */
    NearRows tile;
    int64_t query; /* row of the sequence's query 0 */
    RowGroup group[ROWS_ONCE];
    int64_t groups;
    NextTile soon;
} FewTask;

/* As many keys of d floats as 'floats' have room for, in whole KEYS_ONCE, 'most' at most. */
INLINE int64_t keys_in(int64_t floats, int64_t d, int64_t most) {
    return max64(KEYS_ONCE, min64(most, floats / d / KEYS_ONCE * KEYS_ONCE));
}

/* Keys of d floats, 'ld' apart. */
typedef struct Keys {
    const float *at;
    int64_t d, ld;
} Keys;

INLINE Keys keys_from(Keys k, int64_t j) { return (Keys){ k.at + j * k.ld, k.d, k.ld }; }

/* Floats e ... of 'count' rows and 'keys' keys, both constants where inlined, join their chains;
** 'part': the keys have fewer than LANES of them. */
INLINE void multiply_step(const int count, const int keys, const int part, const Row *row, Keys k,
                          int64_t e, V acc[][KEYS_ONCE]) {
    V q[ROWS_TOGETHER];
    UNROLL for (int r = 0; r < count; r++) q[r] = v_load(row[r].q + e);
    UNROLL for (int i = 0; i < keys; i++) {
        const float *at = k.at + i * k.ld + e;
        V key = part ? v_load_part(at, k.d - e) : v_load(at);
        UNROLL for (int r = 0; r < count; r++) acc[r][i] = v_fma(q[r], key, acc[r][i]);
    }
}

/* s[row][key] = row . key: a vector of chains, whose lanes are added in one order. */
INLINE void scores_of(const int count, const int keys, const Row *row, Keys k, float *s,
                      NextTile *soon) {
    enum { ROWS_SUMMED = LANES / KEYS_ONCE };
    V acc[ROWS_TOGETHER][KEYS_ONCE];
    int64_t e = 0;
    UNROLL for (int r = 0; r < ROWS_TOGETHER; r++) UNROLL for (int i = 0; i < KEYS_ONCE; i++)
        acc[r][i] = v_zero();
    for (; e + STEPS_ONCE * LANES <= k.d; e += STEPS_ONCE * LANES) {
        shaped_ask(soon);
        UNROLL for (int i = 0; i < STEPS_ONCE; i++)
            multiply_step(count, keys, 0, row, k, e + i * LANES, acc);
    }
    for (; e + LANES <= k.d; e += LANES)
        multiply_step(count, keys, 0, row, k, e, acc);
    if (e < k.d) multiply_step(count, keys, 1, row, k, e, acc);
    UNROLL for (int first = 0; first < count; first += ROWS_SUMMED) {
        V x[LANES];
        float sum[LANES];
        UNROLL for (int i = 0; i < LANES; i++) {
            int r = first + i / KEYS_ONCE;
            x[i] = r < count ? acc[r][i % KEYS_ONCE] : v_zero();
        }
        v_store(sum, sums_of(x));
        UNROLL for (int i = 0; i < LANES; i++) {
            int r = first + i / KEYS_ONCE;
            if (r < count && i % KEYS_ONCE < keys) s[r * TILE + i % KEYS_ONCE] = sum[i];
        }
    }
}

INLINE void scores_of_rows(const int count, int64_t n, const Row *row, Keys k, float *s,
                           NextTile *soon) {
    int64_t j = 0;
    NextTile x = *soon;
    for (; j + KEYS_ONCE <= n; j += KEYS_ONCE)
        scores_of(count, KEYS_ONCE, row, keys_from(k, j), s + j, &x);
    for (; j < n; j++)
        scores_of(count, 1, row, keys_from(k, j), s + j, &x);
    *soon = x;
}

/* One key's part of that. */
INLINE void mix_step(const int count, const float *s, const float *v, V acc[][VECTORS_ONCE]) {
    V p[ROWS_TOGETHER];
    UNROLL for (int r = 0; r < count; r++) p[r] = v_splat(s[r * TILE]);
    UNROLL for (int c = 0; c < VECTORS_ONCE; c++) {
        V value = v_load(v + c * LANES);
        UNROLL for (int r = 0; r < count; r++) acc[r][c] = v_fma(p[r], value, acc[r][c]);
    }
}

/* VECTORS_ONCE vectors of o = o * alpha + sum over n keys of s[j] v[j], of each row. */
INLINE void mix_of_rows(const int count, int64_t n, const float *s, const float *v, int64_t ldv,
                        const Row *row, int64_t e, NextTile *soon) {
    NextTile x = *soon;
    V acc[ROWS_TOGETHER][VECTORS_ONCE];
    UNROLL for (int r = 0; r < count; r++) UNROLL for (int c = 0; c < VECTORS_ONCE; c++)
        acc[r][c] = v_load(row[r].found.o + e + c * LANES) * row[r].alpha;
    v += e;
    for (; n >= STEPS_ONCE; n -= STEPS_ONCE, s += STEPS_ONCE, v += STEPS_ONCE * ldv) {
        shaped_ask(&x);
        UNROLL for (int i = 0; i < STEPS_ONCE; i++) mix_step(count, s + i, v + i * ldv, acc);
    }
    for (; n > 0; n--, s++, v += ldv)
        mix_step(count, s, v, acc);
    *soon = x;
    UNROLL for (int r = 0; r < count; r++) UNROLL for (int c = 0; c < VECTORS_ONCE; c++)
        v_store(row[r].found.o + e + c * LANES, acc[r][c]);
}

/* Scores of keys j..j+n-1 of the tile, as far as the group sees them. */
static void score_group(FewTask *f, const RowGroup *g, int64_t j, int64_t n) {
    int64_t first = max64(j, g->from), end = min64(j + n, g->from + g->n);
    Keys at = keys_from((Keys){ f->tile.k, f->a->dk, f->tile.ldk }, first);
    float *s = g->s + first - g->from;
    switch (g->count) {
#define SCORE_CASE(r) \
    case r: scores_of_rows(r, end - first, g->row, at, s, &f->soon); break;
        TOGETHER_CASES(SCORE_CASE)
    }
}

/* Columns e ... of the group's outputs, VECTORS_ONCE vectors or what there is left. */
static void mix_group(FewTask *f, const RowGroup *g, int64_t e) {
    int64_t ldv = f->tile.ldv, left = f->a->dv - e;
    const float *v = f->tile.v + g->from * ldv;
    for (int64_t r = 0; left < VECTORS_ONCE * LANES && r < g->count; r++)
        few_mix(g->n, left, g->s + r * TILE, v + e, ldv, g->row[r].alpha, g->row[r].found.o + e);
    if (left < VECTORS_ONCE * LANES) return;
    switch (g->count) {
#define MIX_CASE(r) \
    case r: mix_of_rows(r, g->n, g->s, v, ldv, g->row, e, &f->soon); break;
        TOGETHER_CASES(MIX_CASE)
    }
}

static void soften_group(const FewTask *f, const RowGroup *g, int64_t first) {
    for (int64_t r = 0; r < g->count; r++) {
        Row *row = g->row + r;
        Shaped x = { f->a, f->source, f->query, row->t, 1, row->head, first + g->from, g->n };
        k_shape_row(&x, g->s + r * TILE);
        row->alpha = few_softmax(f->a, g->n, row, g->s + r * TILE);
    }
}

/* n keys from 'first' on, a tile, against all rows. */
static void few_tile(FewTask *f, int64_t first, int64_t n) {
    const Attention *a = f->a;
    const KeySource *source = f->source;
    int64_t at = slot_of(source, first), near = keys_in(NEAR_FLOATS, a->dk, TILE);
    f->tile = k_rows_near(a, source, at, n, f->room, f->room + TILE * padded(a->dk));
    for (RowGroup *g = f->group; g < f->group + f->groups; g++) {
        g->from = max64(0, first_seen(a, source, g->row->t) - first);
        g->n = max64(0, visible(a, source, g->row->t, first, n) - g->from);
    }
    for (int64_t j = 0; j < n; j += near)
        for (const RowGroup *g = f->group; g < f->group + f->groups; g++)
            score_group(f, g, j, near);
    for (const RowGroup *g = f->group; g < f->group + f->groups; g++)
        if (g->n) soften_group(f, g, first);
    for (int64_t e = 0; e < a->dv; e += VECTORS_ONCE * LANES)
        for (const RowGroup *g = f->group; g < f->group + f->groups; g++)
            if (g->n) mix_group(f, g, e);
}

/* What follows the tile of n keys from 'first' on, and how often that one asks. */
static void expect(FewTask *f, int64_t first, int64_t n, int64_t most, int64_t later) {
    const Attention *a = f->a;
    const KeySource *s = f->source;
    int64_t next = min64(most, later - first - n), columns = VECTORS_ONCE * LANES,
            steps = n / KEYS_ONCE * (a->dk / LANES) + n * (a->dv / columns),
            times = steps * f->groups / STEPS_ONCE;
    f->soon = (NextTile){ .at = s->k + (first + n) * s->ldk };
    if (!s->ring && next > 0 && times) f->soon.pace = next * s->ldk / times + 1;
}

/* Rows of one token, heads, lie together. */
static void group_rows(FewTask *f, Row *row, int64_t rows, float *s) {
    for (int64_t first = 0, end; first < rows; first = end) {
        for (end = first + 1; end < rows && row[end].t == row[first].t;)
            end++;
        int64_t parts = (end - first + ROWS_TOGETHER - 1) / ROWS_TOGETHER;
        for (int64_t i = 0; i < parts; i++) {
            int64_t at = first + share(end - first, parts, i),
                    next = first + share(end - first, parts, i + 1);
            f->group[f->groups++] = (RowGroup){ row + at, s + at * TILE, next - at, 0, 0 };
        }
    }
}

/* From the first key on that any row sees.  Tiles begin at multiples of a number, where pieces and
** where a ring does: they depend on no row. */
static void attend_rows(const Attention *a, const KeySource *source, int64_t b, Row *row,
                        int64_t rows, int64_t from, int64_t to, int64_t later, float *s,
                        float *room) {
    FewTask f = { .a = a, .source = source, .room = room, .query = query_row(a, b) };
    int64_t n, begin = to, most = keys_in(TILE_FLOATS, max64(a->dk, a->dv), TILE);
    group_rows(&f, row, rows, s);
    for (int64_t i = 0; i < rows; i++)
        begin = min64(begin, first_seen(a, source, row[i].t));
    for (int64_t first = max64(from, begin / most * most); first < to; first += n) {
        n = min64(most - first % most, to - first);
        if (source->ring) n = min64(n, source->ring - slot_of(source, first));
        expect(&f, first, n, most, later);
        few_tile(&f, first, n);
    }
}

void k_attention_few_shaped(const Attention *a, int64_t task, float *scratch) {
    few_task(a, task, scratch);
}
