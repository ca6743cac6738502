/* SPDX-License-Identifier: MIT
** Translates a step of a plan to an action of the driver: its kind, its numbers, its references.
*/
#include "tables.h"

#include "kept_rows.h"
#include "packed.h"
#include "recurrence.h"

static void add_ref(Tables *t, Action *a, Ref r) {
    *(Ref *)list_add(&t->bytes.ref, sizeof r) = r;
    a->refs++;
}

/* == Anchors ============================================================== */

/* Where the action of an anchor stands: the tables, the plan and its program. */
typedef struct Setting {
    Tables *t;
    const Plan *p;
    const ProgramKind *kind;
} Setting;

/* The number of rows of a ring that holds a window; 0 if the context is not longer than the
** ring. */
static int64_t ring_of(const Tables *t, const AttentionAction *a) {
    int64_t rows = round_up(a->window - 1 + STRATA_BACK, RING_STEP);
    return a->window && rows < t->info->context ? rows : 0;
}

/* The cache has one row per position, or per chunk of positions.  A last short chunk, and a ring,
** belong to the part of the state with a fixed size.  Averages are float32, because a row is a sum
** until its chunk is complete. */
static void cache_of(Tables *t, AttentionAction *a) {
    Constants *k = &t->bytes.constants;
    int32_t pool = a->causal && a->pool ? a->pool : 1, kept = a->pool ? KEPT_F32 : t->cache;
    int64_t ring = ring_of(t, a);
    a->cache = t->bytes.cache.n;
    Cache c = { .offset = k->state_floats,
                .some_offset = k->state_some,
                .fixed = k->state_fixed,
                .groups = a->groups,
                .kept = kept,
                .dk = (int32_t)kept_floats(kept, a->dk),
                .dv = a->share ? 0 : (int32_t)kept_floats(kept, a->dv),
                .pool = pool,
                .list = a->keys,
                .saves = (pool > 1 || ring) && k->lists,
                .ring = ring };
    *(c.list ? &k->state_some : &k->state_floats) += cache_each(&c);
    k->state_fixed += cache_once(&c);
    *(Cache *)list_add(&t->bytes.cache, sizeof c) = c;
}

/* Reserves this many floats in the state for what a decoding program carries from one call to the
** next; they are zeros at the beginning of a sequence.  Other programs always begin sequences and
** carry nothing. */
static int64_t carry_of(Tables *t, const ProgramKind *kind, int64_t floats) {
    int64_t at = t->bytes.constants.carried_floats;
    if (kind->which != t->generates) return 0;
    t->bytes.constants.carried_floats += round_up(floats, LINE_FLOATS);
    return at;
}

/* The offset at which the optimizer stores the packed weights of a product; -1 if the optimizer
** does not change them. */
static int64_t repacked_place(Tables *t, const Node *weights, const Action *a) {
    int i = params_number(&t->layout, weights);
    if (i < 0 || t->layout.param[i].tensors != 1 || t->layout.param[i].frozen) return -1;
    Repacked *places = &LIST(t->bytes.repacked, Repacked, t->layout.param[i].tensor);
    int64_t *at = a->what == DO_LINEAR_BACK ? &places->back : &places->forward;
    if (*at < 0) {
        *at = t->bytes.constants.repacked_floats;
        t->bytes.constants.repacked_floats += packed_floats(a->product.columns, a->product.steps,
                                                            2 * t->rates.lanes, PACKED_PAIRS);
    }
    return *at;
}

/* The number of bits of a product's small weights, and the size of its scratch memory. */
static int small_of(Tables *t, const Node *weights) {
    int64_t *most = &t->bytes.constants.small_steps;
    int bits = params_small(&t->layout, weights);
    if (bits) *most = max64(*most, weights->shape.dim[weights->shape.rank - 1]);
    return bits;
}

static void set_product(const Setting *x, Action *a, const Node *n) {
    Tables *t = x->t;
    const Shape *w = &n->in[1]->shape;
    ProductAction *k = &a->product;
    bool back = a->what == DO_LINEAR_BACK;
    k->columns = w->dim[back], k->steps = w->dim[!back];
    k->packed = -1;
    k->add = n->nin == 3;
    k->bf16 = params_bf16(&t->layout, n->in[1]);
    k->small = small_of(t, n->in[1]);
    k->narrow = n->attr->bf16;
    k->blas = product_choice(t, back ? PRODUCT_BACK : PRODUCT_FORWARD, w->dim[0], w->dim[1],
                             !t->bytes.constants.bf16 && !k->small);
    k->repacked = x->kind->trains && t->rates.pairs ? repacked_place(t, n->in[1], a) : -1;
}

/* Whether its last operand is a table by distances. */
static bool has_distances(const Node *n) { return n->nin > (n->op == OP_attention ? 3 : 6); }

static void set_attention(const Setting *x, Action *a, const Node *n) {
    Tables *t = x->t;
    const Shape *q = &n->in[0]->shape, *k = &n->in[1]->shape, *v = &n->in[2]->shape;
    AttentionAction *at = &a->attention;
    at->heads = (int32_t)q->dim[0], at->groups = (int32_t)k->dim[0];
    at->dk = (int32_t)q->dim[1];
    at->dv = (int32_t)(n->attr->values ? n->attr->values : v->dim[1]);
    at->pool = (int32_t)n->attr->count;
    at->causal = n->attr->causal;
    at->keys = k->list;
    at->scale = (float)n->attr->value;
    at->softcap = (float)n->attr->softcap;
    at->window = n->attr->window;
    at->share = n->attr->values > 0;
    at->rounded = n->attr->bits == 8 ? KEPT_Q8 : n->attr->bits ? KEPT_BF16 : KEPT_F32;
    at->distances = has_distances(n) ? n->in[n->nin - 1]->shape.dim[1] : 0;
    at->one_table = has_distances(n) && n->in[n->nin - 1]->shape.lead == LEAD_NONE;
    at->narrow = n->attr->bf16;
    at->shaped = at->softcap > 0 || at->window || at->share || at->distances;
    t->bytes.constants.max_head = max64(t->bytes.constants.max_head, max64(at->dk, at->dv));
    if (x->kind->which == t->generates && a->what == DO_ATTENTION) cache_of(t, at);
}

/* In the forward pass, a state carries the last rows of x that later tokens need. */
static void set_shift(const Setting *x, Action *a, const Node *n) {
    int64_t columns = shape_count(&n->in[0]->shape), tokens = n->attr->count;
    a->shift = (ShiftAction){ columns, tokens, carry_of(x->t, x->kind, columns * tokens),
                              n->attr->causal };
}

static void set_conv(const Setting *x, Action *a, const Node *n) {
    int64_t columns = shape_count(&n->in[0]->shape), taps = op_taps(n);
    const Shape *w = a->what == DO_CONV || a->what == DO_CONV_BACK ? &n->in[1]->shape : &n->shape;
    a->conv = (ConvAction){ columns, w->dim[0], taps,
                            a->what == DO_CONV ? carry_of(x->t, x->kind, columns * (taps - 1)) : 0,
                            w->lead == LEAD_TOKENS };
}

static void set_recurrence(const Setting *x, Action *a, const Node *n) {
    Tables *t = x->t;
    RecurrenceShape r = recurrence_shape(n);
    Constants *k = &t->bytes.constants;
    a->recurrence = (RecurrenceAction){ .heads = (int32_t)r.heads,
                                        .groups = (int32_t)r.groups,
                                        .dk = (int32_t)r.dk,
                                        .dv = (int32_t)r.dv,
                                        .decay = r.decay,
                                        .rate = r.rate,
                                        .beta = r.beta,
                                        .sums = RECURRENCE_SUMS,
                                        .by_head = r.by_head };
    k->recurrent_keys = max64(k->recurrent_keys, r.dk);
    k->recurrent_values = max64(k->recurrent_values, r.dv);
    k->recurrent_back |= a->what == DO_RECURRENCE_GRAD;
    if (a->what == DO_RECURRENCE) a->recurrence.carry = carry_of(t, x->kind, r.heads * r.dk * r.dv);
}

static void set_each(const Setting *x, Action *a, const Node *n) {
    (void)x;
    const Shape *w = &n->in[1]->shape;
    a->each = (EachAction){ w->dim[0],      w->dim[1],      w->dim[2],
                            n->attr->first, n->attr->count, n->attr->back };
}

static int64_t actions_last_of(const Shape *s) { return s->dim[s->rank - 1]; }

static void set_largest(const Setting *x, Action *a, const Node *n) {
    (void)x;
    const Shape *all = a->what == DO_PLACE ? &n->shape : &n->in[0]->shape;
    a->largest = (LargestAction){ shape_count(all) / actions_last_of(all), actions_last_of(all),
                                  n->attr->count };
    if (n->nin > 1) a->largest.count = n->in[1]->shape.dim[0];
}

static void set_experts(const Setting *x, Action *a, const Node *n) {
    Tables *t = x->t;
    ExpertAction *k = &a->expert;
    bool outer = a->what == DO_EXPERT_WEIGHT;
    t->bytes.constants.experts = 1;
    if (a->what == DO_EXPERT_LISTS) {
        k->slots = (int32_t)n->shape.dim[0];
        k->experts = (int32_t)n->side[1].dim[0] - 1;
        return;
    }
    const Shape *w = outer ? &n->shape : &n->in[1]->shape;
    k->experts = (int32_t)w->dim[0], k->rows = w->dim[1], k->columns = w->dim[2];
    k->slots = (int32_t)n->in[2]->shape.dim[0];
    for (int i = 0; i < 2; i++)
        k->own[i] = n->in[i]->shape.rank == 2;
    k->first = outer && params_first(x->p, n);
    k->bf16 = !outer && params_bf16(&t->layout, n->in[1]);
    k->small = outer ? 0 : small_of(t, n->in[1]);
}

static void set_outer(const Setting *x, Action *a, const Node *n) {
    a->outer.rows = n->in[0]->shape.dim[0], a->outer.columns = n->in[1]->shape.dim[0];
    a->outer.first = params_first(x->p, n);
    a->outer.blas = product_choice(x->t, PRODUCT_WEIGHT, a->outer.rows, a->outer.columns,
                                   !x->t->bytes.constants.bf16);
}

static void set_embed(const Setting *x, Action *a, const Node *n) {
    a->embed.columns = n->shape.dim[0];
    a->embed.bf16 = params_bf16(&x->t->layout, n->in[0]);
    a->embed.small = params_small(&x->t->layout, n->in[0]);
}

static void set_scatter(const Setting *x, Action *a, const Node *n) {
    (void)x;
    a->scatter.columns = n->in[0]->shape.dim[0], a->scatter.rows = n->shape.dim[0];
}

static void set_loss(const Setting *x, Action *a, const Node *n) {
    (void)x;
    a->loss.vocab = n->in[0]->shape.dim[0];
}

static void set_random(const Setting *x, Action *a, const Node *n) {
    (void)x;
    a->random.count = n->attr->count, a->random.stream = n->attr->first;
}

static void set_top(const Setting *x, Action *a, const Node *n) {
    (void)x;
    a->top.share = n->attr->value;
}

static void set_list(const Setting *x, Action *a, const Node *n) {
    (void)x;
    a->list = (int32_t)n->attr->count;
}

static void set_rows(const Setting *x, Action *a, const Node *n) {
    (void)x;
    a->rows.columns = shape_count(&n->shape);
    a->list = (int32_t)n->in[1]->attr->count;
}

/* The driver's action for an anchor.  Its references are the results first, then the operands. */
typedef struct Anchor {
    Op op;
    int what, results, operands;
    void (*set)(const Setting *x, Action *a, const Node *n);
} Anchor;

static const Anchor anchors[] = {
#define ANCHOR(op, action, member, results, set, ...) \
    { OP_##op, DO_##action, results, sizeof(struct RefsOf##action) - results, set_##set },
#include "anchors.def"
};

static const Anchor *anchor_of(const Node *n) {
    for (size_t i = 0; i < sizeof anchors / sizeof *anchors; i++)
        if (anchors[i].op == n->op) return &anchors[i];
    bug(n, "has no kernel");
}

static void add_anchor(Tables *t, const Plan *p, const ProgramKind *kind, Action *a,
                       const Node *n) {
    const Anchor *k = anchor_of(n);
    a->what = k->what;
    add_ref(t, a, place_of(p, n));
    for (int i = 1; i < min64(k->results, node_results(n)); i++)
        add_ref(t, a, place_side(p, n, i));
    /* further operands, a sum so far and a list, are numbers of the action */
    for (int i = 0; i < min64(k->operands, n->nin); i++)
        add_ref(t, a, place_of(p, n->in[i]));
    a->list = n->nin ? n->in[0]->shape.list : n->shape.list;
    k->set(&(Setting){ t, p, kind }, a, n);
}

static void add_reduce(Tables *t, const Plan *p, Action *a, const Node *n) {
    const Buffer *partial = p->partial[n->id];
    a->what = DO_REDUCE;
    a->reduce.count = partial->count;
    a->reduce.add = p->buffer[n->id]->space == SPACE_GRADIENT;
    a->list = n->in[0]->shape.list;
    add_ref(t, a, place_of(p, n));
    add_ref(t, a, (Ref){ AREA_GRANULE, (int32_t)partial->stride, partial->offset });
}

/* == Steps ================================================================ */

static void actions_add_rows(Tables *t, const Step *s, const Rows *rows, Action *a) {
    a->what = s->kind == STEP_ROW ? DO_ROW : DO_UNIFORM;
    for (int i = 0; i < rows->noperand; i++) {
        const Node *n = rows->operand[i].node;
        if (n && (params_bf16(&t->layout, n) || params_small(&t->layout, n)))
            bug(n, "is not kept as float32");
        add_ref(t, a, rows->operand[i].ref);
    }
}

Rows *action_add(Tables *t, const Plan *p, const ProgramKind *kind, int step, RowsShared shared) {
    const Step *s = &p->step[step];
    Action *a = list_add(&t->bytes.action, sizeof *a);
    Rows *rows = NULL;
    a->ref = t->bytes.ref.n;
    a->profile = -1;
    if (s->kind == STEP_ANCHOR) add_anchor(t, p, kind, a, s->anchor);
    else if (s->kind == STEP_REDUCE) add_reduce(t, p, a, s->anchor);
    else {
        rows = rows_analyse(p, step, t->rates.lanes, shared);
        a->row.kernel = row_kernel_number(t, rows, kind->probes);
        actions_add_rows(t, s, rows, a);
    }
    return rows;
}
