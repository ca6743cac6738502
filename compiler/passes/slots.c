/* SPDX-License-Identifier: MIT
** Decides when each node runs.  A node that needs all tokens begins a new phase; within a phase,
** anchors run in the order in which they were built.  Row nodes of the forward part run as late as
** possible, so that a whole depth read is one kernel.  Row nodes of the backward part run as early
** as possible, so that gradients are added where they are computed.  Twins recompute the forward
** part for the backward part and run in the slot of the gradient that reads them; a twin of a
** product is an anchor of its phase.
**
** An example with six nodes of 16 numbers per token.  "p" is a parameter, and "seed" makes g a node
** of the backward part.  'until' is the time of the last node that reads the value, and 'offset' is
** where memory.c places it, in floats per token (tests/passes/slots_test.c reads the table here):
**
**   node                   time until offset  why
**   x = embed                 1     6      0  token phase 0: the first anchor
**   q = linear x              3     5     16  token phase 0: the second anchor
**   n = mul x, p              4     5     32  a row node of the forward part: slot 2 would do, but
**                                             only a reads n, and slot 4 is the last before it
**   a = attention n, q, q     5     6     48  global phase 1: needs n and q of all tokens
**   t = mul x, p              6     6      -  twin of n: only g reads it, so that it is in g's row
**                                             kernel and takes no memory
**   g = select seed, a, t     6   end     16  token phase 2: the slot after a; nobody reads q and n
**                                             any more, and q's place is the lower one
*/
#include "slots.h"

#include "gradient_runs.h"
#include "min_max.h"
#include "siblings.h"

#include <stdlib.h>
#include <string.h>

static Domain row_domain(const Slots *s, const Node *n) {
    if (n->shape.lead == LEAD_TOKENS) return DOMAIN_ROW;
    for (int i = 0; i < n->nin; i++) {
        Domain d = s->domain[n->in[i]->id];
        if (d != DOMAIN_NONE && d != DOMAIN_PARAM) return DOMAIN_UNIFORM;
    }
    return s->stored[n->id] ? DOMAIN_UNIFORM : DOMAIN_PARAM;
}

static Domain domain_of(const Slots *s, const Node *n) {
    switch (op_info[n->op].class) {
    case SOURCE:
    case WAVE: return DOMAIN_NONE;
    case POINTWISE:
    case VIEW:
    case REDUCE:
    case SOFTMAX:
    case ITERATION: return row_domain(s, n);
    case GATHER: return plan_listed(n) ? DOMAIN_NONE : DOMAIN_TOKEN;
    case CONTRACT:
    case PARTWISE:
    case LOOKUP:
    case DRAW:
    case PICK:
    case LOSS: return DOMAIN_TOKEN;
    case SIDE: return s->domain[n->in[0]->id];
    default: return DOMAIN_GLOBAL;
    }
}

/* The node that makes the list whose rows n has; NULL if n has rows of all tokens, or none. */
static const Node *slots_list_of(const Slots *s, const Node *n) {
    return n->shape.lead == LEAD_TOKENS && n->shape.list ? s->list[n->shape.list] : NULL;
}

static int phase_of(const Slots *s, const Node *n) {
    Domain own = s->domain[n->id];
    int phase = own == DOMAIN_GLOBAL || own == DOMAIN_UNIFORM;
    if (op_info[n->op].class == SIDE) return s->phase[n->in[0]->id];
    if (slots_list_of(s, n) && s->phase[slots_list_of(s, n)->id] + 1 > phase)
        phase = s->phase[slots_list_of(s, n)->id] + 1 + (own == DOMAIN_GLOBAL);
    for (int i = 0; i < n->nin; i++) {
        int p = s->phase[n->in[i]->id];
        switch (s->domain[n->in[i]->id]) {
        case DOMAIN_NONE:
        case DOMAIN_PARAM: continue;
        case DOMAIN_ROW:
        case DOMAIN_TOKEN:
            if (own == DOMAIN_GLOBAL || own == DOMAIN_UNIFORM) p++;
            else if (n->in[i]->shape.list != n->shape.list) p += 2; /* from all its rows */
            break;
        default: /* a uniform node runs at the end of its global phase */
            p += own == DOMAIN_UNIFORM ? 0 : own == DOMAIN_GLOBAL ? 2 : 1;
        }
        if (p > phase) phase = p;
    }
    return phase;
}

static bool is_anchor(const Slots *s, const Node *n) {
    Domain d = s->domain[n->id];
    return s->needed[n->id] && op_info[n->op].class != SIDE
        && (d == DOMAIN_TOKEN || d == DOMAIN_GLOBAL || d == DOMAIN_UNIFORM);
}

typedef struct Event {
    int phase, list, id;
} Event;

static int by_phase(const void *x, const void *y) {
    const Event *a = x, *b = y;
    if (a->phase != b->phase) return a->phase - b->phase;
    return a->list != b->list ? a->list - b->list : a->id - b->id;
}

/* Anchors get odd times in order; all anchors of one global phase get the same time. */
static void time_anchors(Graph *g, Slots *s) {
    Event *event = graph_scratch(g, ((size_t)g->n + 1) * sizeof *event);
    int n = 0, time = -1, phase = -1, list = 0, start = 0;
    for (int i = 0; i < g->n; i++)
        if (is_anchor(s, g->node[i]))
            event[n++] = (Event){ s->phase[i], s->phase[i] % 2 ? 0 : g->node[i]->shape.list, i };
    qsort(event, (size_t)n, sizeof *event, by_phase);
    for (int i = 0; i < n; i++) {
        if (event[i].phase % 2 == 0 || event[i].phase != phase) time += 2;
        if (event[i].phase != phase || event[i].list != list) start = time;
        phase = event[i].phase;
        list = event[i].list;
        s->time[event[i].id] = time;
        s->start[event[i].id] = start;
    }
    for (int i = 0; i < g->n; i++)
        if (op_info[g->node[i]->op].class == SIDE) s->time[i] = s->time[g->node[i]->in[0]->id];
    s->times = time + 2;
}

/* The first slot in which all operands of a row node are available. */
static int earliest(const Slots *s, const int *asap, const Node *n) {
    int t = slots_list_of(s, n) ? s->time[slots_list_of(s, n)->id] + 1 : 0;
    for (int i = 0; i < n->nin; i++) {
        int id = n->in[i]->id;
        Domain d = s->domain[id];
        if (d == DOMAIN_NONE || d == DOMAIN_PARAM) continue;
        int at = d == DOMAIN_ROW ? asap[id] : s->time[id] + 1;
        if (at > t) t = at;
    }
    return t;
}

static bool slots_is_row(const Slots *s, const Node *n) {
    return s->needed[n->id] && s->domain[n->id] == DOMAIN_ROW;
}

static bool is_sum(const Slots *s, const Node *n) {
    return s->needed[n->id] && op_info[n->op].class == TOKENSUM;
}

/* The latest slot in which an operand still serves its consumer.  A gather or scatter must come
** before everything that works on the same list's rows. */
static int slots_wanted(const Slots *s, const Node *consumer) {
    if (consumer->op == OP_gather || consumer->op == OP_scatter) return s->start[consumer->id] - 1;
    if (op_info[consumer->op].class == TOKENSUM) return s->partial[consumer->id];
    return slots_is_row(s, consumer) ? s->time[consumer->id] : s->time[consumer->id] - 1;
}

static int *new_times(Graph *g) {
    int *t = graph_scratch(g, ((size_t)g->n + 1) * sizeof *t);
    memset(t, 0x7f, ((size_t)g->n + 1) * sizeof *t);
    return t;
}

/* The last slot that serves a consumer.  For a twin without a time, it is the last slot that serves
** the twin's own consumers. */
static int allowed(const Slots *s, const Node *consumer, const int *limit) {
    return slots_is_row(s, consumer) && s->time[consumer->id] < 0 ? limit[consumer->id]
                                                                  : slots_wanted(s, consumer);
}

/* Row nodes that the training step computes before an anchor are computed before it here too. */
static void limit_as_training(const Graph *g, const Slots *s, const int *asap, const Alike *alike,
                              int *limit) {
    for (int i = 0; alike && i < g->n; i++) {
        const Node *anchor = alike->before[i];
        if (!anchor || !slots_is_row(s, g->node[i]) || !s->needed[anchor->id]) continue;
        limit[i] = s->time[anchor->id] - 1 > asap[i] ? s->time[anchor->id] - 1 : asap[i];
    }
}

/* Puts row nodes into the latest slot that serves all consumers.  Twins are put there for row
** kernels and anchors of token phases only; a twin that none of these reads stays without a
** time. */
static void time_late(Graph *g, Slots *s, const int *asap, const Alike *alike, bool twins) {
    int *late = new_times(g), *limit = new_times(g);
    limit_as_training(g, s, asap, alike, limit);
    for (int i = g->n; i-- > 0;) {
        const Node *n = g->node[i];
        if (!s->needed[i]) continue;
        if (slots_is_row(s, n) && (s->twin[i] ? twins : !twins && !n->backward))
            s->time[i] = late[i] < s->times ? min_int(late[i], limit[i])
                : twins                     ? -1
                                            : min_int(asap[i], limit[i]);
        for (int k = 0; k < n->nin; k++) {
            int x = n->in[k]->id;
            if (!slots_is_row(s, n->in[k]) || (s->domain[i] == DOMAIN_UNIFORM && !is_sum(s, n)))
                continue;
            limit[x] = min_int(limit[x], allowed(s, n, limit));
            if (twins && s->domain[i] == DOMAIN_GLOBAL && !is_sum(s, n)) continue;
            if (slots_is_row(s, n) && s->time[i] < 0) continue;
            late[x] = min_int(late[x], slots_wanted(s, n));
        }
    }
}

/* Twins that only a global anchor reads go into the slot of their operands' twins or, if there are
** none, right before the first anchor. */
static void time_twins(Graph *g, Slots *s, const int *asap) {
    int *limit = new_times(g);
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (!slots_is_row(s, n) || !s->twin[i] || s->time[i] >= 0) continue;
        for (int k = 0; k < n->nin; k++) {
            const Node *x = n->in[k];
            if (slots_is_row(s, x) && s->twin[x->id] && s->time[x->id] > s->time[i])
                s->time[i] = s->time[x->id];
        }
        if (s->time[i] >= 0 && s->time[i] < asap[i]) s->time[i] = asap[i];
    }
    for (int i = g->n; i-- > 0;) {
        const Node *n = g->node[i];
        if (!s->needed[i] || op_info[n->op].class == SOURCE) continue;
        if (slots_is_row(s, n) && s->time[i] < 0) s->time[i] = limit[i];
        for (int k = 0; k < n->nin; k++)
            limit[n->in[k]->id] = min_int(limit[n->in[k]->id], slots_wanted(s, n));
    }
}

static void time_rows(Graph *g, Slots *s, const Alike *alike) {
    int *asap = graph_scratch(g, ((size_t)g->n + 1) * sizeof *asap);
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (slots_is_row(s, n)) s->time[i] = asap[i] = earliest(s, asap, n);
        if (is_sum(s, n)) s->partial[i] = earliest(s, asap, n);
    }
    time_late(g, s, asap, alike, false); /* forward */
    time_late(g, s, asap, NULL, true);   /* twins */
    time_twins(g, s, asap);
}

/* Checks that every row value is computed before it is read. */
static void check_order(const Graph *g, const Slots *s) {
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (!s->needed[i] || op_info[n->op].class == SIDE
            || (s->domain[i] == DOMAIN_UNIFORM && !is_sum(s, n)))
            continue;
        for (int k = 0; k < n->nin; k++) {
            const Node *x = n->in[k];
            if (slots_is_row(s, x) && s->time[x->id] > slots_wanted(s, n))
                bug(n, "runs at %d, before its operand %%%d at %d", s->time[i], x->id,
                    s->time[x->id]);
        }
    }
}

static void find_needed(const Graph *g, Slots *s, bool forward) {
    for (int i = 0; i < g->nout; i++)
        s->needed[g->out[i].node->id] = !(forward && g->out[i].node->backward);
    graph_mark_operands(g, s->needed);
}

/* Nodes of the gradient pass that no cotangent reaches repeat the forward part (twins, and nodes
** made of twins alone): their operands are available early, and their results are needed late. */
static void find_twins(const Graph *g, Slots *s) {
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        bool driven = n->op == OP_seed;
        for (int k = 0; k < n->nin; k++)
            driven |= n->in[k]->op == OP_seed || (n->in[k]->backward && !s->twin[n->in[k]->id]);
        s->twin[i] = n->backward && !driven;
    }
}

/* An anchor that repeats the forward part runs in the first phase that needs it, not in the first
** phase in which it could run. */
static void delay_twins(Graph *g, Slots *s) {
    int *want = graph_scratch(g, ((size_t)g->n + 1) * sizeof *want);
    memset(want, 0x7f, ((size_t)g->n + 1) * sizeof *want);
    for (int i = g->n; i-- > 0;) {
        const Node *n = g->node[i];
        bool token = s->domain[i] == DOMAIN_ROW || s->domain[i] == DOMAIN_TOKEN;
        if (!s->needed[i]) continue;
        int phase = s->twin[i] && token ? min_int(want[i], 1 << 29) : s->phase[i];
        if (s->twin[i] && s->domain[i] == DOMAIN_TOKEN) s->phase[i] = phase;
        for (int k = 0; k < n->nin; k++) {
            int x = n->in[k]->id;
            bool crosses = token && n->in[k]->shape.lead == LEAD_TOKENS
                && n->in[k]->shape.list != n->shape.list;
            if (s->twin[x])
                want[x] = min_int(want[x], crosses ? phase - 2 : token ? phase : phase - 1);
        }
    }
}

/* Whether a row of n is a column of a parameter and at least as long as a vector. */
static bool has_columns(const Node *n) {
    enum { LONG = 16 };
    int last = n->shape.rank - 1;
    int64_t apart = 1;
    if (n->op != OP_transpose || last < 1 || !plan_turned(n)) return false;
    for (int i = n->attr->perm[last] + 1; i <= last; i++)
        apart *= n->in[0]->shape.dim[i];
    return apart > 1 && n->shape.dim[last] >= LONG;
}

/* By id: whether rows of tokens are computed with a uniform node, or a view of it. */
static bool *find_token_reads(Graph *g, const Slots *s) {
    bool *reads = graph_scratch(g, (size_t)g->n + 1);
    for (int i = g->n; i-- > 0;) {
        const Node *n = g->node[i];
        bool by_tokens = n->shape.lead == LEAD_TOKENS ? class_is_row(op_info[n->op].class)
                                                      : op_info[n->op].class == VIEW && reads[i];
        for (int k = 0; s->needed[i] && by_tokens && k < n->nin; k++)
            reads[n->in[k]->id] = true;
    }
    return reads;
}

/* Finds values that must be in memory: what anchors read, computed weights included; long lists of
** parameters, because no kernel assembles them by itself; and columns of parameters that each token
** would otherwise gather number by number. */
static void find_stored(Graph *g, Slots *s) {
    const bool *token_reads = find_token_reads(g, s);
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        s->stored[i] |= n->op == OP_concat && n->nin > RUN_PIECES;
        s->stored[i] |= token_reads[i] && has_columns(n);
        if (class_is_row(op_info[n->op].class) || op_info[n->op].class == SIDE) continue;
        for (int k = 0; s->needed[i] && k < n->nin; k++)
            s->stored[plan_storage(n->in[k])->id] = true;
    }
}

Slots *slots_find(Graph *g, bool forward, const Alike *alike) {
    size_t n = (size_t)g->n + 1;
    Slots *s = graph_scratch(g, sizeof *s);
    s->needed = graph_scratch(g, n);
    s->domain = graph_alloc(g, n * sizeof *s->domain);
    s->phase = graph_scratch(g, n * sizeof *s->phase);
    s->time = graph_scratch(g, n * sizeof *s->time);
    s->start = graph_scratch(g, n * sizeof *s->start);
    s->partial = graph_scratch(g, n * sizeof *s->partial);
    s->twin = graph_scratch(g, n);
    s->stored = graph_scratch(g, n);
    s->list = graph_scratch(g, ((size_t)graph_lists(g) + 1) * sizeof *s->list);
    for (int i = 0; i < g->n; i++)
        if (g->node[i]->op == OP_rows) s->list[g->node[i]->attr->count] = g->node[i];
    find_needed(g, s, forward);
    find_twins(g, s);
    find_stored(g, s);
    for (int i = 0; i < g->n; i++) {
        s->domain[i] = domain_of(s, g->node[i]);
        s->phase[i] = phase_of(s, g->node[i]);
    }
    delay_twins(g, s);
    time_anchors(g, s);
    time_rows(g, s, alike);
    siblings_join(g, s);
    check_order(g, s);
    return s;
}
