/* SPDX-License-Identifier: MIT
** The memory plan: which values are stored, where, and which of them share memory.  A size is
** linear in tokens, granules or workers, so one plan serves every batch.  Values that live within
** one token phase lie in a worker's own area, which has the length of one chunk.  In the token
** area, lifetimes are counted in phases instead of steps, because tasks of one phase are at
** different steps.
*/
#include "descent.h"
#include "gradient_runs.h"
#include "packing.h"
#include "passes.h"

#include <string.h>

enum {
    FEW_OF = 8, /* few of a list: an eighth */
    FEW = 64,   /* numbers per token */
    LITTLE = 4  /* a quarter */
};

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Rows of 16 floats or more start on a cache line, and their distance is no multiple of 1024 bytes:
** a product reads several rows in parallel, and a head of attention some columns of all rows, which
** would otherwise map to few sets of the caches. */
static int64_t row_stride(int64_t count) {
    int64_t stride = count < 16 ? count : round_up(count, 16);
    return stride && stride % 256 == 0 ? stride + 16 : stride;
}

static int producer(const Plan *p, const Node *n) {
    return p->step_of[op_info[n->op].class == SIDE ? n->in[0]->id : n->id];
}

static Buffer *memory_need(Plan *p, const Node *n) {
    Buffer **b = &p->buffer[n->id];
    if (*b) return *b;
    *b = graph_alloc(p->g, sizeof **b);
    (*b)->node = n;
    (*b)->count = shape_count(&n->shape);
    (*b)->stride = row_stride(plan_bf16(n) ? ((*b)->count + 1) / 2 : (*b)->count);
    (*b)->first = (*b)->last = producer(p, n);
    return *b;
}

static bool has_no_place(const Plan *p, const Node *x) {
    Domain d = p->domain[x->id];
    return d == DOMAIN_NONE || d == DOMAIN_PARAM || plan_listed(x);
}

/* Step 'at' reads x. */
static void use(Plan *p, const Node *x, int at) {
    x = plan_storage(x);
    Domain d = p->domain[x->id];
    if (has_no_place(p, x) || ((d == DOMAIN_ROW || d == DOMAIN_UNIFORM) && producer(p, x) == at))
        return;
    Buffer *b = memory_need(p, x);
    if (at > b->last) b->last = at;
}

/* For row kernels: views whose operands are still to be visited, and by id the last step that
** visited the node, plus 1. */
typedef struct Views {
    NodeList list;
    int *seen;
} Views;

/* Step 'at' reads x.  A view that is not stored for an anchor or as a result is read through its
** operands, which must be in memory.  A parameter that is transposed in a step of its own is
** stored. */
static void use_through(Plan *p, Views *views, const Node *x, int at) {
    node_list_push(p->g, &views->list, x);
    while (views->list.n) {
        x = plan_storage(views->list.node[--views->list.n]);
        bool turned = plan_turned(x) && p->domain[x->id] == DOMAIN_UNIFORM;
        bool through = op_info[x->op].class == VIEW && x->op != OP_concat && !turned
            && producer(p, x) != at && !p->buffer[x->id] && !has_no_place(p, x);
        if (!through) use(p, x, at);
        for (int i = 0; through && views->seen[x->id] != at + 1 && i < node_reads(x); i++)
            node_list_push(p->g, &views->list, x->in[i]);
        if (through) views->seen[x->id] = at + 1;
    }
}

/* Whether the operand needs memory: a row value that the step only waits for does not. */
static bool is_used(const Plan *p, const Node *n, int operand) {
    const Node *x = plan_storage(n->in[operand]);
    return operand < node_reads(n) || p->domain[x->id] != DOMAIN_ROW
        || op_info[x->op].class == VIEW;
}

/* Marks results that a kernel writes even if nothing reads them. */
static void need_written(Plan *p) {
    for (int i = 0; i < p->g->n; i++) {
        const Node *n = p->g->node[i], *of = op_info[n->op].class == SIDE ? n->in[0] : n;
        bool all = op_writes_all(of->op)
            || (of == n && (op_info[n->op].class == SEQUENCE || op_info[n->op].class == LOSS));
        if (all && p->step_of[of->id] >= 0) memory_need(p, n);
    }
}

/* Stores a row value, computed by step 'at', that has no other reason to be in memory. */
static bool memory_is_own(const Plan *p, const Node *x, int at) {
    return p->domain[x->id] == DOMAIN_ROW && producer(p, x) == at && !p->buffer[x->id];
}

/* The pieces of a long list in memory are read by number, so the few that the step computes itself
** are stored, too. */
static void need_pieces(Plan *p, const Node *stack, int at) {
    int own = 0;
    if (stack->op != OP_stack || stack->nin <= RUN_PIECES) return;
    for (int i = 0; i < stack->nin; i++)
        own += memory_is_own(p, plan_storage(stack->in[i]), at);
    for (int i = 0; own * FEW_OF <= stack->nin && i < stack->nin; i++) {
        const Node *x = plan_storage(stack->in[i]);
        if (memory_is_own(p, x, at)) memory_need(p, x);
    }
}

/* Finds what must be stored first, because row kernels read stored views from memory. */
static void use_all(Plan *p) {
    Views views = { .seen = graph_scratch(p->g, ((size_t)p->g->n + 1) * sizeof *views.seen) };
    need_written(p);
    for (int i = 0; i < p->g->nout; i++)
        if (!p->g->out[i].param) memory_need(p, plan_storage(p->g->out[i].node));
    for (int i = 0; i < p->nstep; i++)
        for (int k = 0; p->step[i].kind == STEP_ANCHOR && k < p->step[i].anchor->nin; k++)
            use(p, p->step[i].anchor->in[k], i);
    for (int i = 0; i < p->nstep; i++) {
        const Step *s = &p->step[i];
        for (int k = 0; k < s->n; k++)
            need_pieces(p, s->node[k], i);
        for (int k = 0; k < s->n; k++)
            for (int j = 0; s->node[k]->op != OP_reshape && j < s->node[k]->nin; j++)
                if (is_used(p, s->node[k], j)) use_through(p, &views, s->node[k]->in[j], i);
    }
}

/* Floats per token that a row kernel loads and stores.  'seen', by id: the last step for which the
** node was counted, plus 1. */
static int64_t moved(const Plan *p, int at, int *seen) {
    const Step *s = &p->step[at];
    int64_t floats = 0;
    for (int k = 0; k < s->n; k++) {
        const Node *n = s->node[k];
        if (p->buffer[n->id]) floats += p->buffer[n->id]->count;
        for (int i = 0; i < node_reads(n); i++) {
            const Node *x = plan_storage(n->in[i]);
            bool loaded = seen[x->id] != at + 1 && !has_no_place(p, x) && producer(p, x) != at;
            if (loaded && x->shape.lead == LEAD_TOKENS) floats += shape_count(&x->shape);
            seen[x->id] = at + 1;
        }
    }
    return floats;
}

/* Stores what training stores of a row kernel, if it is small compared with what the kernel moves
** anyway: a few numbers per token, or one more partial result of a group of depth reads. */
static void need_alike(Plan *p) {
    int *seen = graph_scratch(p->g, ((size_t)p->g->n + 1) * sizeof *seen);
    for (int i = 0; p->alike && i < p->nstep; i++) {
        const Step *s = &p->step[i];
        int64_t more = 0;
        if (s->kind != STEP_ROW) continue;
        for (int k = 0; k < s->n; k++)
            if (p->alike->stored[s->node[k]->id] && !p->buffer[s->node[k]->id])
                more += shape_count(&s->node[k]->shape);
        if (more > FEW && LITTLE * more > moved(p, i, seen)) continue;
        for (int k = 0; k < s->n; k++)
            if (p->alike->stored[s->node[k]->id]) memory_need(p, s->node[k]);
    }
}

/* Result buffers: a gradient uses the memory of the value from which it is computed if nothing else
** reads that value; logits go to the caller; the rest stays until the end. */
static void use_outputs(Plan *p) {
    for (int i = 0; i < p->npart; i++) {
        const Node *n = p->part[i].node;
        Class c = op_info[n->op].class;
        if (c != OUTER && c != SCATTER && c != TAPS && c != TOKENSUM) continue;
        if (p->buffer[n->id] && p->buffer[n->id]->space == SPACE_GRADIENT) {
            /* the gradient of two parameters: stored, then added to both */
            p->buffer[n->id]->space = SPACE_NONE;
        } else if (!p->buffer[n->id]) memory_need(p, n)->space = SPACE_GRADIENT;
    }
    for (int i = 0; i < p->g->nout; i++) {
        if (p->g->out[i].param) continue;
        const Node *n = plan_storage(p->g->out[i].node);
        Buffer *b = memory_need(p, n);
        b->last = p->nstep - 1;
        if (!strcmp(p->g->out[i].name, "logits")) {
            b->space = SPACE_LOGITS;
            b->stride = b->count;
            /* every token's, read by the caller */
        } else if (n->shape.lead == LEAD_TOKENS) b->space = SPACE_TOKEN;
    }
}

static Buffer *root(Buffer *b) {
    while (b->into)
        b = b->into;
    return b;
}

static void share(Buffer *b, Buffer *with) {
    with = root(with);
    b->into = with;
    if (b->last > with->last) with->last = b->last;
}

static void choose_space(Plan *p, Buffer *b) {
    if (b->space != SPACE_NONE) return;
    Domain d = p->domain[b->node->id];
    if (b->node->shape.lead == LEAD_NONE) {
        b->space = SPACE_CONSTANT;
        b->stride = round_up(b->count, 16);
    } else if (d != DOMAIN_GLOBAL && p->step[b->first].phase == p->step[b->last].phase)
        b->space = SPACE_LOCAL;
    else b->space = SPACE_TOKEN;
}

/* Computes a sum directly in the caller's rows; all of it must be in one phase. */
static void share_logits(const Plan *p, const Buffer *b, Buffer *onto) {
    if (p->step[onto->first].phase != p->step[b->first].phase)
        bug(b->node, "is formed in several phases");
    onto->space = SPACE_LOGITS;
    onto->stride = b->stride;
}

/* An anchor that adds to an operand uses the operand's memory. */
static void share_onto(Plan *p) {
    for (int i = p->nstep; i-- > 0;) {
        const Node *n = p->step[i].kind == STEP_ANCHOR ? p->step[i].anchor : NULL;
        if (!n || op_info[n->op].class != CONTRACT || n->nin < 3) continue;
        Buffer *b = p->buffer[n->id], *onto = plan_buffer(p, n->in[2]);
        if (onto->last != i) bug(n, "adds onto a value that is read later");
        if (b->space == SPACE_LOGITS) share_logits(p, b, onto);
        else if (b->space == SPACE_TOKEN || onto->space == SPACE_TOKEN)
            b->space = onto->space = SPACE_TOKEN;
        share(b, onto);
    }
}

/* By node id: the number of steps that may be the last to read the node; a value that is not stored
** may be computed in any of them. */
static const int *count_late(const Plan *p) {
    int *late = graph_scratch(p->g, ((size_t)p->g->n + 1) * sizeof *late);
    for (int i = 0; i < p->g->n; i++) {
        const Node *n = p->g->node[i];
        for (int k = 0; k < node_reads(n); k++) {
            const Node *x = plan_storage(n->in[k]);
            const Buffer *b = p->buffer[x->id];
            if (b && (!p->buffer[n->id] || producer(p, n) >= b->last)) late[x->id]++;
        }
    }
    return late;
}

/* The stored value behind an operand: the operand itself, or the value whose first rows it is, if
** nothing else reads that value as late. */
static const Node *read_once(const Plan *p, const int *late, const Node *x) {
    if (p->buffer[x->id] || x->op != OP_slice || x->attr->axis || x->attr->first) return x;
    const Node *whole = x->in[0];
    return p->buffer[whole->id] && late[whole->id] == 1 ? whole : x;
}

static bool has_rows(const Buffer *b) { return b->space == SPACE_TOKEN || b->space == SPACE_LOCAL; }

/* y = a + (anything): if nothing else reads a, or the value of which a is the beginning, from then
** on, y takes its memory.  If one of them outlives the phase, both are in the token area; the other
** one lives in this phase only, so this occupies no memory for longer. */
static void share_sum(Plan *p, const int *uses, const int *late, const Node *y) {
    Buffer *b = p->buffer[y->id];
    if (y->op != OP_add || !b || b->into || !has_rows(b)) return;
    for (int i = 0; i < 2; i++) {
        const Node *x = y->in[i], *held = read_once(p, late, x);
        Buffer *a = p->buffer[held->id];
        if (!a || !has_rows(a) || uses[x->id] != 1 || a->last != b->first || a->stride < b->stride
            || plan_bf16(held) != plan_bf16(y) || !shape_equal(&x->shape, &y->shape))
            continue;
        if (b->space == SPACE_TOKEN) root(a)->space = SPACE_TOKEN;
        b->space = root(a)->space;
        b->stride = a->stride;
        share(b, a);
        return;
    }
}

static void share_sums(Plan *p) {
    const int *uses = graph_uses(p->g, NULL), *late = count_late(p);
    for (int i = 0; i < p->nstep; i++)
        for (int k = 0; p->step[i].kind == STEP_ROW && k < p->step[i].n; k++)
            share_sum(p, uses, late, p->step[i].node[k]);
}

/* == Packing ============================================================== */

/* One float per token is at least a granule of floats; 16 floats are a cache line. */
int64_t plan_guard(const Plan *p, Space space) {
    if (!p->guarded) return 0;
    return space == SPACE_TOKEN || space == SPACE_LOCAL ? 1 : 16;
}

/* Offsets of items in one memory area, with a guard before each and one after the last. */
static int64_t pack(const Plan *p, PackItem *item, int n, bool reuse) {
    int64_t guard = n ? plan_guard(p, item->b->space) : 0;
    for (int i = 0; i < n; i++)
        item[i].size += guard;
    int64_t top = pack_items(item, n, reuse);
    for (int i = 0; i < n; i++)
        item[i].b->offset += guard;
    return top + guard;
}

static int64_t pack_space(Plan *p, Space space, bool reuse) {
    int n = 0;
    PackItem *item = graph_scratch(p->g, ((size_t)p->g->n + 1) * sizeof *item);
    for (int i = 0; i < p->g->n; i++) {
        Buffer *b = p->buffer[i];
        if (!b || b->into || b->space != space) continue;
        bool steps = space == SPACE_LOCAL;
        item[n++] = (PackItem){ b, steps ? b->first : p->step[b->first].phase,
                                steps ? b->last : p->step[b->last].phase, b->stride };
    }
    return pack(p, item, n, reuse);
}

/* The partial sums of a token_sum, one row per granule, live from its row kernel to its end. */
static void add_partials(Plan *p, PackItem *item, int *n) {
    for (int i = 0; i < p->nstep; i++)
        for (int k = 0; p->step[i].kind == STEP_ROW && k < p->step[i].n; k++) {
            const Node *s = p->step[i].node[k];
            if (op_info[s->op].class != TOKENSUM) continue;
            Buffer *b = graph_alloc(p->g, sizeof *b);
            *b = (Buffer){ .node = s,
                           .space = SPACE_GRANULE,
                           .count = shape_count(&s->shape),
                           .first = i,
                           .last = p->step_of[s->id] };
            b->stride = round_up(b->count, 16);
            p->partial[s->id] = b;
            item[(*n)++] = (PackItem){ b, p->step[i].phase, p->step[b->last].phase, b->stride };
        }
}

void pass_memory(Plan *p, bool reuse) {
    use_all(p);
    need_alike(p);
    use_outputs(p);
    for (int i = 0; i < p->g->n; i++)
        if (p->buffer[i]) choose_space(p, p->buffer[i]);
    share_onto(p);
    if (reuse) share_sums(p);
    p->token_floats = pack_space(p, SPACE_TOKEN, reuse);
    p->local_floats = pack_space(p, SPACE_LOCAL, reuse);
    p->constant_floats = pack_space(p, SPACE_CONSTANT, reuse);
    PackItem *item = graph_scratch(p->g, ((size_t)p->g->n + 1) * sizeof *item);
    int n = 0;
    p->partial = graph_alloc(p->g, ((size_t)p->g->n + 1) * sizeof *p->partial);
    add_partials(p, item, &n);
    p->granule_floats = pack(p, item, n, reuse);
    for (int i = 0; i < p->g->n; i++) {
        Buffer *b = p->buffer[i];
        if (b && b->into) b->offset = root(b)->offset, b->space = root(b)->space;
    }
}
