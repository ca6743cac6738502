/* SPDX-License-Identifier: MIT
** The sizes and offsets of a model's parts, in floats.  The compiler writes them into the
** descriptor and lays out tables; the driver divides memory.  Everything that both need to know is
** here.
*/
#ifndef STRATA_SIZES_H
#define STRATA_SIZES_H

#include <stdbool.h>

#include "min_max.h"
#include "packed.h"
#include "program.h"

/* Of a cache line: tensors, rows of tables and parts of the arena begin on one. */
enum { LINE_FLOATS = 16 };

/* Blocks of a size that n takes, the last one may be short. */
static inline int64_t blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }
static inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* == Tables of cos and sin ================================================ */

/* Floats of a table's row, one per position. */
static inline int64_t wave_stride(int64_t count) { return round_up(count, LINE_FLOATS); }

/* Tables have rows for the model's context; a control block may have rows for more positions. */
static inline int64_t wave_offset(int64_t offset, int64_t context, int64_t length) {
    return length == context ? offset : offset / context * length;
}

/* == TRAIN ================================================================ */

/* Gradients, two moments, the weights that the optimizer packs, and scratch memory for the rules of
** buffers and for Muon. */
static inline int64_t repacked_from(const Constants *k) {
    return 2 * k->gradients + k->second_moments;
}
static inline int64_t rules_from(const Constants *k) {
    return repacked_from(k) + round_up(k->repacked_floats, LINE_FLOATS);
}
static inline int64_t rules_floats(const Constants *k) {
    return k->rules ? round_up(blocks(k->scratch_bytes, sizeof(float)), LINE_FLOATS) : 0;
}
static inline int64_t muon_from(const Constants *k) { return rules_from(k) + rules_floats(k); }
static inline int64_t train_floats(const Constants *k) {
    return k->rules || k->muon_floats ? muon_from(k) + k->muon_floats
                                      : repacked_from(k) + k->repacked_floats;
}

/* What Muon works in, behind muon_from: two matrices of the tensor's size, two squares of its
** shorter side, and the right side of a product, packed in panels of so many columns, as
** floats or parts ('what'); in floats. */
typedef struct MuonRoom {
    int64_t rows, columns; /* the shorter side, the longer side */
    int64_t other, square, product, packed, floats;
} MuonRoom;

static inline MuonRoom muon_room(int64_t rows, int64_t columns, int64_t panel, Packing what) {
    MuonRoom m = { min64(rows, columns), max64(rows, columns), 0, 0, 0, 0, 0 };
    int64_t matrix = round_up(rows * columns, LINE_FLOATS),
            square = round_up(m.rows * m.rows, LINE_FLOATS),
            wide = max64(packed_floats(m.rows, m.columns, panel, what),
                         packed_floats(m.columns, m.rows, panel, what));
    m.other = matrix;
    m.square = m.other + matrix;
    m.product = m.square + square;
    m.packed = m.product + square;
    m.floats = m.packed + max64(wide, packed_floats(m.rows, m.rows, panel, what));
    return m;
}

/* == States of sequences ================================================== */

/* A ring has room for the rows of a window and of a call of STRATA_BACK tokens, which are in it
** before its queries look, in multiples of RING_STEP. */
enum { RING_STEP = 4 };

/* Bytes of a state before its caches. */
enum { STATE_HEAD = 64 };

/* A row of keys and values, of all groups. */
static inline int64_t cache_row(const Cache *c) { return (int64_t)c->groups * (c->dk + c->dv); }
static inline int64_t cache_head(const Cache *c) { return c->list ? LENGTH_FLOATS : 0; }

/* Rows that a cache has room for: 'routed' if a route takes its tokens, else one for every chunk
** of positions, a last short chunk too. */
static inline int64_t cache_rows(const Cache *c, int64_t context, int64_t routed) {
    return c->ring ? c->ring : c->list ? routed : (context + c->pool - 1) / c->pool;
}

/* Floats of a cache for each position of the context, or for each token that its route may take. */
static inline int64_t cache_each(const Cache *c) {
    return c->ring ? 0 : (cache_row(c) + c->pool - 1) / c->pool;
}

/* Floats of a cache besides: its length, the row of a last short chunk, the saved row; a ring, and
** as many saved rows. */
static inline int64_t cache_once(const Cache *c) {
    if (c->ring) return cache_head(c) + c->ring * cache_row(c) * (c->saves ? 2 : 1);
    return cache_head(c) + (c->pool > 1 ? cache_row(c) : 0) + (c->saves ? cache_row(c) : 0);
}

/* What operations over time carry from one call to the next, with a fixed size for each sequence.
** A call overwrites it.  If a call may find no room for the tokens that routes take, a copy of the
** previous contents lies behind it. */
static inline int64_t carried_room(const Constants *k) {
    return k->carried_floats * (k->lists ? 2 : 1);
}

/* All of a state but its head: what is carried, then the caches. */
static inline int64_t held_floats(const Constants *k, int64_t context, int64_t routed) {
    return carried_room(k) + context * k->state_floats + routed * k->state_some + k->state_fixed;
}

/* == A worker's scratch =================================================== */

/* The arguments of a row kernel: its operands' pointers, and in --check builds their bounds and a
** word. */
static inline int64_t kernel_pointers(bool check, int64_t refs) {
    return check ? 3 * refs + 1 : refs;
}

/* Floats before the kernel's own scratch that hold them, if they are many. */
static inline int64_t pointer_floats(bool check, int64_t refs) {
    return refs > FEW_REFS ? round_up(2 * kernel_pointers(check, refs), LINE_FLOATS) : 0;
}

/* == The arena of a call ================================================== */

/* What programs need: per token, per granule, once, for packed weights, and of a worker for a
** token of its chunk. */
typedef struct ArenaNeeds {
    int64_t token, granule, constant, packed, local;
} ArenaNeeds;

/* The largest need of any of the programs [p, end), which may run in one arena. */
static inline ArenaNeeds arena_needs(const ModelProgram *p, const ModelProgram *end) {
    ArenaNeeds n = { 0, 0, 0, 0, 0 };
    for (; p < end; p++) {
        n.token = max64(n.token, p->token_floats);
        n.granule = max64(n.granule, p->granule_floats);
        n.constant = max64(n.constant, p->constant_floats);
        n.packed = max64(n.packed, p->packed_floats);
        n.local = max64(n.local, p->local_floats);
    }
    return n;
}

/* The number of rows for which a value has room: one more than there are tokens, so that values do
** not all begin a multiple of 4096 bytes apart.  Otherwise their rows of one token would map to few
** sets of the caches and evict each other when a kernel reads many of them. */
static inline int64_t rows_apart(int64_t tokens) { return tokens + 1; }

/* Per token what programs need, positions, and keys, values and past of cached attention. */
static inline int64_t arena_token(const Constants *k, const ArenaNeeds *n) {
    return n->token + CALL_FLOATS * (1 + k->caches_at_once);
}

/* The words of one list of rows: per token, and for as many tokens that there are not. */
static inline int64_t list_floats(int64_t tokens) { return LIST_WORDS * (tokens + LIST_BEYOND); }

/* Their heads, of which the first is of no list, then their words. */
static inline int64_t list_heads(const Constants *k) {
    return k->lists ? LIST_HEAD * (k->lists + 1) : 0;
}

static inline int64_t lists_floats(const Constants *k, int64_t tokens) {
    return list_heads(k) + k->lists * list_floats(tokens);
}

#endif
