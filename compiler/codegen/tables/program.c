/*
** Programs of a model (logits, loss, training) written down as the tables that
** driver.c walks.
*/
#include "tables.h"

#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "packed.h"
#include "site.h"

enum { PACKED = 16 << 20 };

void *list_add(List *l, size_t size) {
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->data = realloc(l->data, (size_t)l->cap * size);
        if (!l->data) {
            fprintf(stderr, "error: memory: expected room for the model's tables, found none\n");
            exit(3);
        }
    }
    void *at = (char *)l->data + (size_t)l->n++ * size;
    memset(at, 0, size);
    return at;
}

/* == Tables of cos and sin ================================================ */

static bool same_wave(const Tables *t, const Wave *w, const Attr *a) {
    return w->count == a->count && w->sine == a->sine
        && !memcmp(&w->scale, &a->value, sizeof w->scale)
        && !memcmp(&LIST(t->frequency, double, w->frequency), a->frequency,
                   (size_t)a->count * sizeof(double));
}

static int64_t place_wave(Tables *t, const Attr *a) {
    for (int i = 0; i < t->wave.n; i++)
        if (same_wave(t, &LIST(t->wave, Wave, i), a)) return LIST(t->wave, Wave, i).offset;
    Wave w = { t->constants.table_floats,     a->count, t->frequency.n, a->value, a->sine,
               (int32_t)wave_stride(a->count) };
    for (int64_t i = 0; i < a->count; i++)
        *(double *)list_add(&t->frequency, sizeof(double)) = a->frequency[i];
    t->constants.table_floats += t->info->context * w.ld;
    *(Wave *)list_add(&t->wave, sizeof w) = w;
    return w.offset;
}

static void place_nodes(Tables *t, Plan *p) {
    p->place = graph_alloc(p->g, ((size_t)p->g->n + 1) * sizeof *p->place);
    for (int i = 0; i < p->g->n; i++) {
        const Node *n = p->g->node[i];
        if (n->op == OP_param) {
            p->place[i] = params_at(t, n->attr.name);
            if (p->place[i] < 0) bug(n, "has no place");
        }
        if (n->op == OP_wave) p->place[i] = place_wave(t, &n->attr);
    }
}

/* == References =========================================================== */

static int32_t area_of(Space s) {
    switch (s) {
    case SPACE_WEIGHT: return AREA_WEIGHT;
    case SPACE_GRADIENT: return AREA_GRADIENT;
    case SPACE_TOKEN: return AREA_TOKEN;
    case SPACE_LOCAL: return AREA_LOCAL;
    case SPACE_GRANULE: return AREA_GRANULE;
    case SPACE_CONSTANT: return AREA_CONSTANT;
    case SPACE_TABLE: return AREA_TABLE;
    case SPACE_LOGITS: return AREA_LOGITS;
    default: return AREA_NONE;
    }
}

static Ref place_source(const Plan *p, const Node *n) {
    switch (n->op) {
    case OP_param: return (Ref){ AREA_WEIGHT, 0, p->place[n->id] };
    case OP_seed: return (Ref){ AREA_UNIFORM, 0, 0 };
    case OP_per_token: return (Ref){ AREA_UNIFORM, 0, 1 };
    case OP_sampling: return (Ref){ AREA_UNIFORM, 0, 2 };
    case OP_tokens: return (Ref){ AREA_TOKENS, 1, 0 };
    case OP_targets: return (Ref){ AREA_TARGETS, 1, 0 };
    case OP_position: return (Ref){ AREA_POSITION, 1, 0 };
    case OP_gather: return (Ref){ AREA_LIST_POSITION, 1, n->shape.list };
    case OP_wave: return (Ref){ AREA_TABLE, (int32_t)wave_stride(n->attr.count), p->place[n->id] };
    default: return (Ref){ AREA_NONE, 0, 0 };
    }
}

Ref place_gradient(const Plan *p, const Node *param) {
    return (Ref){ AREA_GRADIENT, 0, p->place[param->id] };
}

/* The parameter whose gradient a node is added to directly. */
static const Node *gradient_of(const Plan *p, const Node *n) {
    for (int i = 0; i < p->npart; i++)
        if (p->part[i].node == n) return p->part[i].param;
    bug(n, "is no gradient");
}

Ref place_of(const Plan *p, const Node *n) {
    n = plan_storage(n);
    const Buffer *b = p->buffer[n->id];
    if (!b) return place_source(p, n);
    if (b->space == SPACE_GRADIENT) return place_gradient(p, gradient_of(p, n));
    return (Ref){ area_of(b->space), (int32_t)b->stride, b->offset };
}

static void add_ref(Tables *t, Action *a, Ref r) {
    *(Ref *)list_add(&t->ref, sizeof r) = r;
    a->refs++;
}

/* The place of another result of an anchor; AREA_NONE if nobody wants it. */
static Ref place_side(const Plan *p, const Node *n, int result) {
    for (int i = n->id + 1; i < p->g->n; i++) {
        const Node *s = p->g->node[i];
        if (s->op == OP_side && s->in[0] == n && s->attr.first == result && p->buffer[s->id])
            return place_of(p, s);
    }
    return (Ref){ AREA_NONE, 0, 0 };
}

/* == Actions ============================================================== */

/* What the driver does for an anchor: results first, then operands. */
typedef struct Anchor {
    Op op;
    int what, results;
    bool add;
} Anchor;

static const Anchor anchors[] = {
    { OP_linear, DO_LINEAR, 1, false },
    { OP_linear_back, DO_LINEAR_BACK, 1, false },
    { OP_linear_weight, DO_OUTER, 1, true },
    { OP_embed, DO_EMBED, 1, false },
    { OP_embed_weight, DO_SCATTER, 1, true },
    { OP_attention, DO_ATTENTION, 2, false },
    { OP_attention_grad, DO_ATTENTION_GRAD, 3, false },
    { OP_random, DO_RANDOM, 1, false },
    { OP_top, DO_TOP, 1, false },
    { OP_rows, DO_LIST, 1, false },
    { OP_gather, DO_GATHER, 1, false },
    { OP_scatter, DO_SCATTER_ROWS, 1, false },
    { OP_cross_entropy, DO_CROSS_ENTROPY, 2, false },
    { OP_cross_entropy_grad, DO_CROSS_ENTROPY_GRAD, 1, false },
};

static const Anchor *anchor_of(const Node *n) {
    for (size_t i = 0; i < sizeof anchors / sizeof *anchors; i++)
        if (anchors[i].op == n->op) return &anchors[i];
    bug(n, "has no kernel");
}

/* A row for every position or chunk of them; a last short chunk is among what is fixed. */
static void cache_of(Tables *t, AttentionAction *a) {
    Constants *k = &t->constants;
    int32_t pool = a->causal && a->pool ? a->pool : 1;
    a->cache = t->cache.n;
    Cache c = { k->state_floats, k->state_some, k->state_fixed, a->groups,           a->dk,
                a->dv,           pool,          a->keys,        pool > 1 && k->lists };
    *(c.list ? &k->state_some : &k->state_floats) += cache_each(&c);
    k->state_fixed += cache_once(&c);
    *(Cache *)list_add(&t->cache, sizeof c) = c;
}

/* Room where the optimizer keeps a product's weights packed; -1: they are no parameter. */
static int64_t keep_packed(Tables *t, const Node *weights, const Action *a) {
    int i = params_number(t, weights);
    if (i < 0) return -1;
    int64_t *at = a->what == DO_LINEAR_BACK ? &t->kept[i].back : &t->kept[i].forward;
    if (*at < 0) {
        *at = t->constants.kept_floats;
        t->constants.kept_floats += packed_floats(a->product.columns, a->product.steps,
                                                  2 * t->lanes, 1);
    }
    return *at;
}

static void set_product(Tables *t, Action *a, const Node *n) {
    const Shape *w = &n->in[1]->shape;
    ProductAction *k = &a->product;
    bool back = a->what == DO_LINEAR_BACK;
    k->columns = w->dim[back], k->steps = w->dim[!back];
    k->packed = -1;
    k->add = n->nin == 3;
    k->half = params_half(t, n->in[1]);
    k->narrow = n->attr.half;
    k->kept = t->keeping ? keep_packed(t, n->in[1], a) : -1;
}

static void set_attention(Tables *t, Action *a, const Node *n, bool caches) {
    const Shape *q = &n->in[0]->shape, *k = &n->in[1]->shape, *v = &n->in[2]->shape;
    AttentionAction *at = &a->attention;
    at->heads = (int32_t)q->dim[0], at->groups = (int32_t)k->dim[0];
    at->dk = (int32_t)q->dim[1], at->dv = (int32_t)v->dim[1];
    at->pool = (int32_t)n->attr.count;
    at->causal = n->attr.causal;
    at->keys = k->list;
    at->scale = (float)n->attr.value;
    if (at->dk > t->constants.max_head) t->constants.max_head = at->dk;
    if (at->dv > t->constants.max_head) t->constants.max_head = at->dv;
    if (caches && a->what == DO_ATTENTION) cache_of(t, at);
}

/* What an action needs beyond its references, from the shapes of the anchor and its operands. */
static void set_sizes(Tables *t, const Plan *p, Action *a, const Node *n, bool caches) {
    const Shape *x = n->nin ? &n->in[0]->shape : &n->shape, *own = &n->shape;
    a->list = x->list;
    switch (a->what) {
    case DO_LINEAR:
    case DO_LINEAR_BACK: set_product(t, a, n); break;
    case DO_OUTER:
        a->outer.rows = x->dim[0], a->outer.columns = n->in[1]->shape.dim[0];
        a->outer.first = params_first(p, n);
        break;
    case DO_EMBED:
        a->embed.columns = own->dim[0];
        a->embed.half = params_half(t, n->in[0]);
        break;
    case DO_SCATTER: a->scatter.columns = x->dim[0], a->scatter.rows = own->dim[0]; break;
    case DO_CROSS_ENTROPY:
    case DO_CROSS_ENTROPY_GRAD: a->loss.vocab = x->dim[0]; break;
    case DO_RANDOM: a->random.count = n->attr.count, a->random.stream = n->attr.first; break;
    case DO_TOP: a->top.share = n->attr.value; break;
    case DO_LIST: a->list = (int32_t)n->attr.count; break;
    case DO_GATHER:
    case DO_SCATTER_ROWS:
        a->rows.columns = shape_count(own);
        a->list = (int32_t)n->in[1]->attr.count;
        break;
    case DO_ATTENTION:
    case DO_ATTENTION_GRAD: set_attention(t, a, n, caches); break;
    default: bug(n, "is an action that has no numbers");
    }
}

static void add_anchor(Tables *t, const Plan *p, const Step *s, Action *a, bool caches) {
    const Node *n = s->anchor;
    const Anchor *k = anchor_of(n);
    a->what = k->what;
    add_ref(t, a, place_of(p, n));
    for (int i = 1; i < k->results; i++)
        add_ref(t, a, place_side(p, n, i));
    /* of a product's sum so far, and of a list, the action knows */
    int operands = op_info[n->op].class == CONTRACT ? 2
        : n->op == OP_gather || n->op == OP_scatter ? 1
                                                    : n->nin;
    for (int i = 0; i < operands; i++)
        add_ref(t, a, place_of(p, n->in[i]));
    set_sizes(t, p, a, n, caches);
    /* the library's order: nll, lse, logits, ids; dlogits, logits, lse, ids, dy; o, lse, q, k, v */
}

static void add_reduce(Tables *t, const Plan *p, const Step *s, Action *a) {
    const Buffer *b = p->partial[s->anchor->id], *out = p->buffer[s->anchor->id];
    a->what = DO_REDUCE;
    a->reduce.count = b->count;
    a->reduce.add = out->space == SPACE_GRADIENT;
    a->list = s->anchor->in[0]->shape.list;
    add_ref(t, a, place_of(p, s->anchor));
    add_ref(t, a, (Ref){ AREA_GRANULE, (int32_t)b->stride, b->offset });
}

/* The module with less in it takes the next kernel.  A probe runs seldom: it is not worth
** the time to compile it well. */
static void emit_row(Tables *t, const Rows *r, const char *name) {
    int to = t->emit[1] && t->emitted[1] < t->emitted[0];
    if (!t->emit[to]) return;
    t->emit[to]->plain = t->probing;
    t->emitted[to] += rows_emit(t->emit[to], r, name);
}

static int row_number(Tables *t, Rows *r) {
    char *identity = rows_identity(r);
    for (int i = 0; identity && i < t->row.n; i++)
        if (!strcmp(LIST(t->row, RowKernel, i).identity, identity)) return free(identity), i;
    RowKernel *k = list_add(&t->row, sizeof *k);
    const Node *n = r->step->n ? r->step->node[r->step->n - 1] : NULL;
    const char *site = n && n->site ? site_last(n->site) : "model";
    char name[128];
    snprintf(name, sizeof name, "rows%d_%.64s%s", t->row.n - 1, site,
             n && n->backward ? "_grad" : "");
    k->identity = identity;
    k->name = strdup(name);
    emit_row(t, r, name);
    int64_t bytes = r->scratch * (int64_t)sizeof(float);
    if (bytes > t->constants.scratch_bytes) t->constants.scratch_bytes = bytes;
    return t->row.n - 1;
}

_Static_assert((int)PLAN_LOGITS == PROGRAM_LOGITS && (int)PLAN_LOSS == PROGRAM_LOSS
                   && (int)PLAN_TRAIN == PROGRAM_TRAIN && (int)PLAN_GENERATE == PROGRAM_GENERATE
                   && (int)PLAN_SCORE == PROGRAM_SCORE && (int)PLAN_PROBE == PROGRAM_PROBE
                   && (int)PLANS == PROGRAMS,
               "plans are numbered as programs are");

static Rows *add_rows(Tables *t, const Plan *p, int step, Action *a, RowsShared shared) {
    const Step *s = &p->step[step];
    Rows *rows = rows_analyse(p, step, t->lanes, shared);
    a->what = s->kind == STEP_ROW ? DO_ROW : DO_UNIFORM;
    a->row.kernel = row_number(t, rows);
    for (int i = 0; i < rows->noperand; i++) {
        const Node *n = rows->operand[i].node;
        if (n && params_half(t, n)) bug(n, "is kept as bfloat16");
        add_ref(t, a, rows->operand[i].ref);
    }
    if (a->refs > MAX_REFS)
        bug(s->node[0], "makes a kernel of %d operands, more than %d", a->refs, MAX_REFS);
    return rows;
}

static void add_step(Tables *t, Plan *p, int which, int step, RowsShared shared) {
    const Program *out = &t->program[which];
    const Step *s = &p->step[step];
    Action *a = list_add(&t->action, sizeof *a);
    a->ref = t->ref.n;
    a->profile = -1;
    Rows *rows = NULL;
    if (s->kind == STEP_ANCHOR) add_anchor(t, p, s, a, which == t->generates);
    else if (s->kind == STEP_REDUCE) add_reduce(t, p, s, a);
    else rows = add_rows(t, p, step, a, shared);
    if (t->constants.check) regions_reach(t, out, a, rows);
    if (which == PROGRAM_PROBE) return; /* no part of what the model costs */
    PlannedStep cost = cost_add(t, p, rows, step, rows ? a->row.kernel : -1, which);
    a->profile = cost.kernel;
    if (t->planned) t->planned->step[which][step] = cost;
}

/* Room for the weights of a token phase's products, packed before its tasks; what would make
** it larger than PACKED is packed by each task.  Returns the room, in floats. */
static int64_t place_packed(Tables *t, const Stage *s) {
    int64_t room = 0;
    for (int i = 0; !s->global && i < s->count; i++) {
        Action *a = &LIST(t->action, Action, s->first + i);
        if (a->what != DO_LINEAR && a->what != DO_LINEAR_BACK) continue;
        int64_t floats = packed_floats(a->product.columns, a->product.steps, 2 * t->lanes,
                                       t->pairs);
        if (room + floats > PACKED) continue;
        a->product.packed = room;
        room += floats;
    }
    return room;
}

/* The plan is freed, or passes to who keeps it. */
static void add_program(Tables *t, Plan *p, int which) {
    Program *out = &t->program[which];
    if (t->planned) {
        t->planned->plan[which] = p;
        t->planned->step[which] = graph_alloc(p->g,
                                              ((size_t)p->nstep + 1) * sizeof **t->planned->step);
    }
    place_nodes(t, p);
    RowsShared shared = rows_shared(p);
    *out = (Program){ .phase = t->stage.n,
                      .phases = p->nphase,
                      .token_floats = p->token_floats,
                      .local_floats = p->local_floats,
                      .granule_floats = p->granule_floats,
                      .constant_floats = p->constant_floats };
    if (t->constants.check) regions_add(t, p, out);
    for (int i = 0; i < p->nphase; i++) {
        Stage s = { t->action.n, p->phase[i].count, p->phase[i].global, p->phase[i].list, 0, 0 };
        if (which == PROGRAM_TRAIN) params_final(t, i, &s);
        int attention = 0;
        for (int k = 0; k < p->phase[i].count; k++) {
            add_step(t, p, which, p->phase[i].first + k, shared);
            attention += LIST(t->action, Action, t->action.n - 1).what == DO_ATTENTION;
        }
        if (attention > t->constants.caches_at_once && which != PROGRAM_PROBE)
            t->constants.caches_at_once = attention;
        int64_t packed = place_packed(t, &s);
        if (packed > out->packed_floats) out->packed_floats = packed;
        *(Stage *)list_add(&t->stage, sizeof s) = s;
    }
    const Node *nll = graph_find(p->g, "nll"), *loss = graph_find(p->g, "loss");
    if (nll) out->result = place_of(p, nll);
    if (loss) out->loss = place_of(p, loss);
    for (int i = 0; which == PROGRAM_PROBE && i < t->info->probe->nresult; i++) {
        const Node *n = p->g->out[i].node;
        *(ProbeResult *)list_add(&t->probe_result, sizeof(ProbeResult)) =
            (ProbeResult){ place_of(p, n), shape_count(&n->shape) };
    }
    if (!t->planned) graph_free(p->g);
}

static void add_probe(Tables *t, const Graph *probe, Plan *p) {
    params_place_inputs(t, probe);
    t->probing = true;
    add_program(t, p, PROGRAM_PROBE);
    t->constants.probe_results = t->probe_result.n;
}

/* In the form that generates: the same programs, if there is no other form. */
static void add_generating(Tables *t, const ModelPlans *plans) {
    static const int form[][2] = { { PROGRAM_GENERATE, PROGRAM_LOGITS },
                                   { PROGRAM_SCORE, PROGRAM_LOSS } };
    for (int i = 0; i < 2; i++)
        if (plans->plan[form[i][0]]) add_program(t, plans->plan[form[i][0]], form[i][0]);
        else t->program[form[i][0]] = t->program[form[i][1]];
}

void tables_build(Tables *t, const Graph *g, const ModelPlans *plans, const CodegenOptions *o) {
    Plan *training = plans->plan[PLAN_TRAIN], *forward = plans->plan[PLAN_LOGITS];
    t->inference = o->inference;
    t->constants.granule = GRANULE;
    t->constants.check = o->check;
    t->constants.bf16 = o->bf16;
    t->constants.max_head = 1;
    t->constants.lists = graph_lists(g);
    params_place(t, g, training);
    t->generates = plans->plan[PLAN_GENERATE] ? PROGRAM_GENERATE : PROGRAM_LOGITS;
    t->constants.chunk = o->chunk ? o->chunk : chunk_of(t, training ? training : forward);
    add_program(t, forward, PROGRAM_LOGITS);
    add_program(t, plans->plan[PLAN_LOSS], PROGRAM_LOSS);
    add_generating(t, plans);
    if (training) params_start(t, training);
    t->keeping = training && t->pairs;
    if (training) add_program(t, training, PROGRAM_TRAIN);
    t->keeping = false;
    t->weights_probe = t->weights;
    if (plans->plan[PLAN_PROBE]) add_probe(t, t->info->probe->graph, plans->plan[PLAN_PROBE]);
    t->constants.waves = t->wave.n;
    t->constants.caches = t->cache.n;
}

void tables_free(Tables *t) {
    for (int i = 0; i < t->row.n; i++)
        free(LIST(t->row, RowKernel, i).identity), free(LIST(t->row, RowKernel, i).name);
    for (int i = 0; i < t->kernel.n; i++)
        free((char *)LIST(t->kernel, KernelInfo, i).name);
    List *lists[] = { &t->stage,  &t->action,    &t->ref,          &t->wave,
                      &t->cache,  &t->frequency, &t->kernel,       &t->row,
                      &t->region, &t->reach,     &t->probe_result, &t->span };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]->data);
    free(t->kept), free(t->param), free(t->param_at), free(t->param_phase), free(t->param_half),
        free(t->input), free(t->input_at);
}
