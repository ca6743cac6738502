/* SPDX-License-Identifier: MIT
** Which reads are computed together: the cut of all reads into groups that moves
** least.  Counted are rows, a token's vector of D floats read or written, over
** the forward and the backward part, all of them in memory: reads whose shared
** sources stay in the second-level cache are left apart.
**
** Apart, a read takes every source once forward, once more to compute its result
** again for the gradients, and for these the source, its gradient and the gradient
** written.  Together, shared sources are taken once per group, and every read but one
** writes and reads its partial result twice and what flows back into it once.
*/
#include "two_phase.h"

enum {
    MOST = 16, /* reads of a group: a bound on the memory for partial results */
    CHUNK_TOKENS = 256,
    BEYOND_CACHE = 2 << 20,
    SOURCE_FORWARD = 1,
    SOURCE_ALL = 5,
    PARTIAL_FORWARD = 2,
    PARTIAL_ALL = 6
};

/* How much less a group must move to pay for the instructions of its merges. */
static const double margin = 1.3;

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
    bool all;               /* groups wherever there can be one */
    double source, partial; /* rows moved for a source of a read, for a partial result */
    Notes *notes;
} GroupCost;

static int64_t row_of(const StackRead *r) { return shape_count(&r->stack->in[0]->shape); }

static double rows_apart(const GroupCost *c, int i) { return c->source * c->read[i].stack->nin; }

/* A chunk of the shared sources is more than any second-level cache holds: below that, reads
** one after another find them there, and two phases were measured to take 4 to 6 % longer. */
static bool leaves_cache(const StackRead *r, int shared) {
    return 4 * CHUNK_TOKENS * row_of(r) * shared > BEYOND_CACHE;
}

/* Negative if the reads share too little for it. */
static double rows_together(const GroupCost *c, ReadGroup g) {
    int shared = group_shared(c->read, g, c->notes);
    if (shared < 2 || !(c->all || leaves_cache(&c->read[g.first], shared))) return -1;
    double rows = c->source * shared;
    for (int i = g.first; i < g.first + g.count; i++) {
        rows += c->source * (c->read[i].stack->nin - shared);
        if (i > g.first) rows += c->partial;
    }
    return c->all ? rows : rows * margin;
}

/* The best cut of reads i and on, of which those after i are known. */
static void choose_at(const GroupCost *c, int i, double *best, int *count) {
    best[i] = rows_apart(c, i) + best[i + 1];
    count[i] = 1;
    for (int k = 2; k <= MOST && i + k <= c->n; k++) {
        double rows = rows_together(c, (ReadGroup){ i, k });
        if (rows < 0) return; /* more reads share no more */
        if (rows + best[i + k] >= best[i]) continue;
        best[i] = rows + best[i + k];
        count[i] = k;
    }
}

int groups_choose(Graph *mem, const StackRead *read, int n, TwoPhase how, bool training,
                  Notes *notes, ReadGroup *out) {
    size_t size = (size_t)n + 1;
    double *best = graph_alloc(mem, size * sizeof *best);
    int *count = graph_alloc(mem, size * sizeof *count), groups = 0;
    GroupCost c = { .read = read, .n = n, .all = how == TWO_PHASE_ON, .notes = notes };
    c.source = training ? SOURCE_ALL : SOURCE_FORWARD;
    c.partial = c.all ? 0 : training ? PARTIAL_ALL : PARTIAL_FORWARD;
    for (int i = n; i-- > 0;)
        choose_at(&c, i, best, count);
    for (int i = 0; i < n; i += count[i])
        out[groups++] = (ReadGroup){ i, count[i] };
    return groups;
}
