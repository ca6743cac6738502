/* SPDX-License-Identifier: MIT
** See siblings.h.  A region is a connected set of row nodes in one slot.  It moves as a whole, so
** that no additional value is stored, and it moves only if that saves more reading than the values
** that it keeps alive longer cost.
*/
#include "siblings.h"

#include <string.h>

enum { NEVER = -1 };

typedef struct SlotRegion {
    int bound;           /* the farthest slot that operands, or consumers, allow */
    int to;              /* the nearest in which values of it are read, too; NEVER */
    int64_t saved, kept; /* floats per token: read once less; alive for longer */
} SlotRegion;

typedef struct Siblings {
    Graph *g;
    Slots *s;
    bool backward; /* regions of the backward part move now, or of the forward part */
    bool later;    /* to later slots, or to earlier ones */
    int slot;      /* that is looked at */
    int *head;     /* by slot: its first node */
    int *next;     /* by node: the next one of its slot */
    int *at;       /* by node: the slot of a row node, and of a token_sum's partial sums; NEVER */
    int *root;     /* by node: one node for all that hang together */
    SlotRegion *region; /* by root */
    int *near;          /* by node: the nearest slot so far that has or reads its value; NEVER */
    int *seen;          /* by node: root of the region that counted it last */
    int *barriers; /* by time: anchors so far behind which nothing is joined with what is before */
    int *first_user, *user; /* by node: where the nodes that read it begin in 'user' */
} Siblings;

/* == Nodes ================================================================ */

static bool is_sum(const Node *n) { return op_info[n->op].class == TOKENSUM; }

static int slot_of(const Siblings *b, const Node *n) {
    if (!b->s->needed[n->id]) return NEVER;
    if (is_sum(n)) return b->s->partial[n->id];
    return b->s->domain[n->id] == DOMAIN_ROW ? b->s->time[n->id] : NEVER;
}

/* Lists of rows stay as they are. */
static bool may_move(const Siblings *b, const Node *n) {
    const Node *rows = is_sum(n) ? n->in[0] : n;
    return n->backward == b->backward && rows->shape.lead == LEAD_TOKENS && !rows->shape.list;
}

/* Floats per token that a kernel reads of a value; 0 if the value has no rows of all tokens. */
static int64_t floats(const Siblings *b, const Node *n) {
    Domain d = b->s->domain[n->id];
    bool rows = d == DOMAIN_ROW || d == DOMAIN_TOKEN || d == DOMAIN_GLOBAL;
    return rows && n->shape.lead == LEAD_TOKENS && !n->shape.list ? shape_count(&n->shape) : 0;
}

/* By when a consumer wants its operand. */
static int siblings_wanted(const Siblings *b, const Node *consumer) {
    int slot = b->at[consumer->id];
    return slot == NEVER ? b->s->time[consumer->id] - 1 : slot;
}

/* The first slot in which an operand is there. */
static int available(const Siblings *b, const Node *x) {
    Domain d = b->s->domain[x->id];
    if (d == DOMAIN_NONE || d == DOMAIN_PARAM) return 0;
    return d == DOMAIN_ROW ? b->s->time[x->id] : b->s->time[x->id] + 1;
}

/* Of two slots on the way, the one that is met first. */
static int nearer(const Siblings *b, int x, int y) {
    if (x == NEVER || y == NEVER) return x == NEVER ? y : x;
    return (x < y) == b->later ? x : y;
}

/* == Regions ============================================================== */

static int root_of(const Siblings *b, int id) {
    while (b->root[id] != id)
        id = b->root[id] = b->root[b->root[id]];
    return id;
}

static bool is_inside(const Siblings *b, const Node *n, int root) {
    return b->at[n->id] == b->slot && root_of(b, n->id) == root;
}

static void connect(Siblings *b) {
    for (int i = b->head[b->slot]; i >= 0; i = b->next[i]) {
        b->root[i] = i;
        b->region[i] = (SlotRegion){ .bound = b->later ? b->s->times : 0, .to = NEVER };
    }
    for (int i = b->head[b->slot]; i >= 0; i = b->next[i]) {
        const Node *n = b->g->node[i];
        for (int k = 0; k < n->nin; k++)
            if (b->at[n->in[k]->id] == b->slot && !is_sum(n->in[k]))
                b->root[root_of(b, n->in[k]->id)] = root_of(b, i);
    }
}

typedef void Visit(Siblings *b, SlotRegion *r, const Node *x);

/* Visits what a region's node shares with others: operands from outside the region, and its own
** value if nodes that the walk has passed read it. */
static void each_value(Siblings *b, Visit *visit) {
    for (int i = b->head[b->slot]; i >= 0; i = b->next[i]) {
        const Node *n = b->g->node[i];
        int root = root_of(b, i);
        for (int k = 0; k < n->nin; k++)
            if (!is_inside(b, n->in[k], root)) visit(b, &b->region[root], n->in[k]);
        if (!is_sum(n) && b->near[i] != NEVER) visit(b, &b->region[root], n);
    }
}

static void bound_by(const Siblings *b, SlotRegion *r, int slot) {
    if (b->later ? slot < r->bound : slot > r->bound) r->bound = slot;
}

/* The last slot to which a region may move: where its operands are available, or where its results
** are needed. */
static void bound_node(Siblings *b, const Node *n) {
    int root = root_of(b, n->id);
    SlotRegion *r = &b->region[root];
    if (!may_move(b, n)) bound_by(b, r, b->slot);
    for (int k = 0; !b->later && k < n->nin; k++)
        if (!is_inside(b, n->in[k], root)) bound_by(b, r, available(b, n->in[k]));
    for (int k = b->first_user[n->id]; b->later && k < b->first_user[n->id + 1]; k++) {
        const Node *user = b->g->node[b->user[k]];
        if (is_sum(n)) bound_by(b, r, b->s->time[n->id] - 1);
        else if (!is_inside(b, user, root)) bound_by(b, r, siblings_wanted(b, user));
    }
}

static void choose(Siblings *b, SlotRegion *r, const Node *x) {
    int to = b->near[x->id];
    if (!floats(b, x) || to == NEVER || to == b->slot || b->barriers[b->slot] != b->barriers[to])
        return;
    if (b->later ? to <= r->bound : to >= r->bound) r->to = nearer(b, r->to, to);
}

static void weigh(Siblings *b, SlotRegion *r, const Node *x) {
    int root = (int)(r - b->region);
    if (r->to == NEVER || b->seen[x->id] == root) return;
    b->seen[x->id] = root;
    if (b->near[x->id] == r->to) r->saved += floats(b, x);
    else if (b->later && b->near[x->id] == NEVER) r->kept += floats(b, x);
}

/* The cost of moving a region of the forward part earlier: results that later slots or anchors read
** live longer. */
static void weigh_results(Siblings *b) {
    for (int i = b->head[b->slot]; !b->later && i >= 0; i = b->next[i]) {
        const Node *n = b->g->node[i];
        bool read = false;
        for (int k = b->first_user[i]; k < b->first_user[i + 1]; k++)
            read |= !is_inside(b, b->g->node[b->user[k]], root_of(b, i));
        if (read && !is_sum(n)) b->region[root_of(b, i)].kept += floats(b, n);
    }
}

/* == The walk ============================================================= */

static void siblings_pass(Siblings *b, const Node *n) {
    int slot = b->at[n->id];
    b->near[n->id] = is_sum(n) ? NEVER : nearer(b, b->near[n->id], slot);
    for (int k = 0; k < n->nin; k++)
        b->near[n->in[k]->id] = slot;
}

static void siblings_move(Siblings *b, const Node *n) {
    const SlotRegion *r = &b->region[root_of(b, n->id)];
    if (r->to == NEVER || 2 * r->saved < r->kept) return;
    if (is_sum(n)) b->s->partial[n->id] = r->to;
    else b->s->time[n->id] = r->to;
    b->at[n->id] = r->to;
}

static bool any_may_move(const Siblings *b) {
    for (int i = b->head[b->slot]; i >= 0; i = b->next[i])
        if (may_move(b, b->g->node[i])) return true;
    return false;
}

static void join_regions(Siblings *b) {
    int slot = b->slot;
    connect(b);
    for (int i = b->head[slot]; i >= 0; i = b->next[i])
        bound_node(b, b->g->node[i]);
    each_value(b, choose);
    each_value(b, weigh);
    weigh_results(b);
    for (int i = b->head[slot]; i >= 0; i = b->next[i])
        siblings_move(b, b->g->node[i]);
}

static void join_slot(Siblings *b, int slot) {
    b->slot = slot;
    if (any_may_move(b)) join_regions(b);
    for (int i = b->head[slot]; i >= 0; i = b->next[i])
        siblings_pass(b, b->g->node[i]);
}

static void file(Siblings *b) {
    memset(b->head, -1, ((size_t)b->s->times + 2) * sizeof *b->head);
    memset(b->near, -1, ((size_t)b->g->n + 1) * sizeof *b->near);
    memset(b->seen, -1, ((size_t)b->g->n + 1) * sizeof *b->seen);
    for (int i = b->g->n; i-- > 0;) {
        int slot = b->at[i] = slot_of(b, b->g->node[i]);
        if (slot == NEVER) continue;
        b->next[i] = b->head[slot];
        b->head[slot] = i;
    }
}

static void find_users(Siblings *b) {
    Graph *g = b->g;
    int edges = 0;
    for (int i = 0; i < g->n; i++)
        for (int k = 0; b->s->needed[i] && k < g->node[i]->nin; k++, edges++)
            b->first_user[g->node[i]->in[k]->id + 1]++;
    for (int i = 0; i < g->n; i++)
        b->first_user[i + 1] += b->first_user[i];
    int *at = graph_scratch(g, ((size_t)g->n + 1) * sizeof *at);
    memcpy(at, b->first_user, (size_t)g->n * sizeof *at);
    b->user = graph_scratch(g, ((size_t)edges + 1) * sizeof *b->user);
    for (int i = 0; i < g->n; i++)
        for (int k = 0; b->s->needed[i] && k < g->node[i]->nin; k++)
            b->user[at[g->node[i]->in[k]->id]++] = i;
}

static void find_barriers(Siblings *b) {
    for (int i = 0; i < b->g->n; i++) {
        const Node *n = b->g->node[i];
        Domain d = b->s->domain[i];
        bool anchor = d == DOMAIN_TOKEN || d == DOMAIN_GLOBAL || d == DOMAIN_UNIFORM;
        if (b->s->needed[i] && anchor && (d != DOMAIN_TOKEN || n->shape.list))
            b->barriers[b->s->time[i]] = 1;
    }
    for (int t = 1; t <= b->s->times; t++)
        b->barriers[t] += b->barriers[t - 1];
}

static void siblings_walk(Siblings *b, bool backward, bool later) {
    int last = (b->s->times - 1) & ~1;
    b->backward = backward;
    b->later = later;
    file(b);
    for (int slot = 0; slot <= last; slot += 2)
        join_slot(b, later ? last - slot : slot);
}

void siblings_join(Graph *g, Slots *s) {
    size_t n = (size_t)g->n + 2, times = (size_t)s->times + 2;
    Siblings b = { .g = g, .s = s };
    b.head = graph_scratch(g, times * sizeof *b.head);
    b.barriers = graph_scratch(g, times * sizeof *b.barriers);
    b.next = graph_scratch(g, n * sizeof *b.next);
    b.at = graph_scratch(g, n * sizeof *b.at);
    b.root = graph_scratch(g, n * sizeof *b.root);
    b.near = graph_scratch(g, n * sizeof *b.near);
    b.seen = graph_scratch(g, n * sizeof *b.seen);
    b.region = graph_scratch(g, n * sizeof *b.region);
    b.first_user = graph_scratch(g, n * sizeof *b.first_user);
    find_users(&b);
    find_barriers(&b);
    siblings_walk(&b, false, false);
    siblings_walk(&b, false, true);
    siblings_walk(&b, true, true);
}
