/* SPDX-License-Identifier: MIT
** Which reads are computed together: the division of all reads into groups that moves the least
** memory.  The unit is a row, a token's vector of D floats, read or written, over the forward and
** the backward part.  All rows count as memory traffic; reads whose shared sources stay in a small
** second-level cache are therefore not grouped.  Inference uses the division of training, so that
** both have the same bits.
**
** A read alone takes every source once in the forward part and once for the gradients, which also
** read and write the source's gradient.  In a group this happens once per group for shared
** sources; but every read except one writes and reads its partial result and the gradient of it,
** and reads the result again for the gradients.
*/
#include "two_phase.h"

enum {
    MOST = 16, /* reads of a group: a bound on the code of its kernels and on partial results */
    CHUNK_TOKENS = 256,
    BEYOND_CACHE = 512 << 10,
    SOURCE_ROWS = 4, /* rows moved for a source of a read */
    PARTIAL_ROWS = 5 /* for a partial result */
};

/* A group must move less than separate reads to pay for the instructions of its merges: its rows
** count 13 where those of separate reads count 10. */
enum { APART = 10, TOGETHER = 13 };

int group_shared(const StackRead *read, ReadGroup g, Notes *notes) {
    int first = ++notes->walk, n = 0;
    const Node *stack = read[g.first].stack;
    for (int i = 0; i < stack->nin; i++)
        notes->at[stack->in[i]->id].walk = first;
    for (int k = 1; k < g.count; k++) {
        const Node *other = read[g.first + k].stack;
        int before = notes->walk++;
        for (int i = 0; i < other->nin; i++) {
            Note *note = &notes->at[other->in[i]->id];
            if (note->walk == before) note->walk = notes->walk;
        }
    }
    for (int i = 0; i < stack->nin; i++)
        n += group_shares(notes, stack->in[i]);
    return n;
}

bool group_shares(const Notes *notes, const Node *source) {
    return notes->at[source->id].walk == notes->walk;
}

typedef struct GroupCost {
    const StackRead *read;
    int n;
    bool all; /* groups wherever there can be one */
    Notes *notes;
} GroupCost;

static int64_t cost_row_of(const StackRead *r) { return shape_count(&r->stack->in[0]->shape); }

static double rows_apart(const GroupCost *c, int i) {
    return APART * SOURCE_ROWS * c->read[i].stack->nin;
}

/* Whether a chunk of the shared sources is larger than a small second-level cache.  If it is
** smaller, consecutive reads find the sources in the cache, and two phases take as long, as
** measured. */
static bool leaves_cache(const StackRead *r, int shared) {
    return 4 * CHUNK_TOKENS * cost_row_of(r) * shared > BEYOND_CACHE;
}

/* Negative if the reads share too little for it. */
static double rows_together(const GroupCost *c, ReadGroup g) {
    int shared = group_shared(c->read, g, c->notes);
    if (shared < 2 || !(c->all || leaves_cache(&c->read[g.first], shared))) return -1;
    double rows = SOURCE_ROWS * shared;
    for (int i = g.first; i < g.first + g.count; i++) {
        rows += SOURCE_ROWS * (c->read[i].stack->nin - shared);
        if (i > g.first && !c->all) rows += PARTIAL_ROWS;
    }
    return rows * (c->all ? APART : TOGETHER);
}

/* The best division of reads i and later, given the best ones for reads after i. */
static void choose_at(const GroupCost *c, int i, double *best, int *count) {
    best[i] = rows_apart(c, i) + best[i + 1];
    count[i] = 1;
    for (int k = 2; k <= MOST && i + k <= c->n; k++) {
        double rows = rows_together(c, (ReadGroup){ i, k });
        if (rows < 0) return; /* more reads share no more */
        rows += best[i + k];
        /* groups of equal size have the same kernels */
        if (rows > best[i] || (rows == best[i] && count[i + k] != k)) continue;
        best[i] = rows;
        count[i] = k;
    }
}

int groups_choose(Graph *mem, const StackRead *read, int n, TwoPhase how, Notes *notes,
                  ReadGroup *out) {
    size_t size = (size_t)n + 1;
    double *best = graph_alloc(mem, size * sizeof *best);
    int *count = graph_alloc(mem, size * sizeof *count), groups = 0;
    GroupCost c = { .read = read, .n = n, .all = how == TWO_PHASE_ON, .notes = notes };
    for (int i = n; i-- > 0;)
        choose_at(&c, i, best, count);
    for (int i = 0; i < n; i += count[i])
        out[groups++] = (ReadGroup){ i, count[i] };
    return groups;
}
