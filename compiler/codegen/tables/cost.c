/* SPDX-License-Identifier: MIT
** The kernel table: what each step computes and moves.  A multiply-add is two operations; bytes
** are those of operands and results, each counted once.
*/
#include "tables.h"
#include "fatal.h"
#include "small_weights.h"

#include <stdlib.h>
#include <string.h>

/* Behind the name of a kernel for the tokens of a route. */
#define SOME "_some"

static KernelInfo *line_of(Tables *t, const char *name, const char *family, int *index) {
    *index = name_table_find(&t->costs.number, name);
    if (*index >= 0) return &LIST(t->costs.kernel, KernelInfo, *index);
    *index = t->costs.kernel.n;
    KernelInfo *k = list_add(&t->costs.kernel, sizeof *k);
    k->name = checked_text(name);
    k->family = family;
    name_table_add(&t->costs.number, k->name, *index);
    return k;
}

static StepCost rows_cost(const Rows *r) {
    StepCost c = { 0 };
    for (int i = 0; i < r->nvalue; i++) {
        const RowValue *v = &r->value[i];
        if (v->here && v->n->shape.lead != LEAD_NONE) c.flops_per_token += op_flops(v->n);
    }
    for (int i = 0; i < r->noperand; i++) {
        const Operand *o = &r->operand[i];
        if (!o->node || (i >= r->nfixed && rows_value(r, plan_storage(o->node)))) continue;
        double bytes = (plan_bf16(o->node) ? 2.0 : 4.0) * (double)shape_count(&o->node->shape)
            * (o->add ? 2 : 1);
        if (o->ref.area == AREA_GRANULE) c.bytes_per_token += bytes / GRANULE;
        else if (o->node->shape.lead == LEAD_TOKENS) c.bytes_per_token += bytes;
        else c.bytes_constant += bytes;
    }
    return c;
}

/* Row kernels: strata_work. */
static double rows_operations(const Rows *r) {
    double sum = 0;
    for (int i = 0; i < r->nvalue; i++) {
        const RowValue *v = &r->value[i];
        if (v->here && v->n->shape.lead != LEAD_NONE) sum += op_operations(v->n);
    }
    return sum;
}

static double cost_elements(const Node *n) { return (double)shape_count(&n->shape); }
static double cost_bytes_of(const Node *n) {
    return (plan_bf16(plan_storage(n)) ? 2 : 4) * cost_elements(n);
}

/* Of a number; of small weights with their scales. */
static double weight_bytes(const Tables *t, const Node *w) {
    int bits = params_small(&t->layout, w);
    if (bits) return (double)(small_codes(bits) + small_scales(bits)) / (GROUP * PANEL_COLUMNS);
    return params_bf16(&t->layout, w) ? 2 : 4;
}

static StepCost product_cost(const Tables *t, const Node *n) {
    const Shape *w = &n->in[1]->shape;
    double m = (double)w->dim[0], k = (double)w->dim[1];
    return (StepCost){ op_flops(n),
                       cost_bytes_of(n->in[0]) + cost_bytes_of(n) * (n->nin == 3 ? 2 : 1), 0,
                       weight_bytes(t, n->in[1]) * m * k };
}

static StepCost history_cost(const Node *n) {
    StepCost c = { op_flops(n), 0, 0, 0 };
    for (int i = -1; i < n->nin; i++) {
        const Node *x = i < 0 ? n : n->in[i];
        if (x->shape.lead == LEAD_TOKENS) c.bytes_per_token += cost_bytes_of(x);
        else c.bytes_constant += cost_bytes_of(x) * (i < 0 ? 2 : 1); /* gradients are added up */
    }
    for (int i = 1; i < op_info[n->op].results; i++)
        if (n->side[i].lead == LEAD_TOKENS)
            c.bytes_per_token += 4.0 * (double)shape_count(&n->side[i]);
    return c;
}

/* Keys that a query sees through a window, on average over a context. */
static double windowed_pairs(double window, double context) {
    return window - window * (window - 1) / (2 * context);
}

/* Of all heads. */
static double pair_flops(const Node *n) {
    const Shape *x = &n->in[0]->shape;
    double heads = (double)x->dim[0], dk = (double)x->dim[1],
           dv = (double)(n->attr->values ? n->attr->values : n->in[2]->shape.dim[1]);
    return heads * 2 * (n->op == OP_attention_grad ? 3 * dk + 2 * dv : dk + dv);
}

static StepCost sequence_cost(const Tables *t, const Node *n) {
    double bytes = cost_bytes_of(n), count = (double)n->attr->count,
           context = (double)t->info->context;
    for (int i = 0; i < n->nin; i++)
        bytes += cost_bytes_of(n->in[i]);
    if (n->op == OP_attention_grad)
        bytes += 4 * (cost_elements(n->in[1]) + cost_elements(n->in[2]));
    double pairs = n->attr->causal ? 1 : 2; /* pairs are counted as if later keys were not seen */
    double pair = pair_flops(n);
    if (n->attr->values) bytes -= 4 * cost_elements(n->in[2]); /* those of keys */
    if (n->attr->window && (double)n->attr->window < context)
        return (StepCost){ pair * windowed_pairs((double)n->attr->window, context), bytes, 0, 0 };
    if (!n->attr->count) return (StepCost){ 0, bytes, pairs * pair, 0 };
    double averages = cost_elements(n->in[1]) + cost_elements(n->in[2]);
    if (n->attr->causal) return (StepCost){ averages, bytes, pair / count, 0 };
    return (StepCost){ averages + pair * count, bytes, 0, 0 };
}

/* Weights that products of parts read. */
static double each_bytes(const Node *n) {
    const Shape *w = &n->in[1]->shape;
    return 4 * (double)w->dim[0] * (double)n->attr->count * (double)w->dim[2];
}

static StepCost anchor_cost(const Tables *t, const Node *n) {
    double own = cost_elements(n), flops = op_flops(n);
    const Shape *x = n->nin ? &n->in[0]->shape : &n->shape;
    switch (op_info[n->op].class) {
    case CONTRACT: return product_cost(t, n);
    case OUTER:
        return (StepCost){ flops, cost_bytes_of(n->in[0]) + cost_bytes_of(n->in[1]), 0, 8 * own };
    case EXPERT:
        return (StepCost){ flops, cost_bytes_of(n->in[0]) + 4 * own, 0,
                           weight_bytes(t, n->in[1]) * cost_elements(n->in[1]) };
    case PARTWISE:
        return (StepCost){ flops, 4 * (cost_elements(n->in[0]) + own), 0, each_bytes(n) };
    case LOOKUP: return (StepCost){ 0, (4 + weight_bytes(t, n->in[0])) * own, 0, 0 };
    case DRAW:
    case GATHER:
    case PICK: return (StepCost){ 0, 8 * own, 0, 0 };
    case CHOICE: return (StepCost){ 0, 8, 0, 0 };
    case SCATTER: return (StepCost){ flops, 12.0 * (double)x->dim[0], 0, 0 };
    case LOSS: return (StepCost){ flops, 4.0 * (double)x->dim[0] * (n->nin == 4 ? 2 : 1), 0, 0 };
    case TAPS:
    case HISTORY: return history_cost(n);
    case TOKENSUM: return (StepCost){ flops / GRANULE, 4 * own / GRANULE, 0, 8 * own };
    default: return sequence_cost(t, n);
    }
}

static const char *const family[NOP] = {
#define ANCHOR(op, action, member, results, set, phase, run, family, ...) [OP_##op] = #family,
#include "anchors.def"
};

static const char *family_of(const Node *n) { return family[n->op] ? family[n->op] : "row"; }

/* Taps, how far a shift reaches, or channels of a recurrence's key. */
static int64_t past_of(const Node *n) {
    if (n->op == OP_shift) return n->attr->count;
    return n->op == OP_recurrence || n->op == OP_recurrence_grad ? n->in[0]->shape.dim[1]
                                                                 : op_taps(n);
}

/* The sizes that name a kernel of its own: strata_kernel.size. */
static int anchor_sizes(const Node *n, int64_t size[KERNEL_SIZES]) {
    const Shape *x = n->nin ? &n->in[0]->shape : &n->shape;
    const int64_t *dim = n->shape.dim;
    switch (op_info[n->op].class) {
    case CONTRACT: dim = n->in[1]->shape.dim; /* fall through */
    case OUTER:
    case SCATTER:
    case TAPS: size[0] = dim[0], size[1] = dim[1]; return 2;
    case EXPERT:
        for (int i = 0; i < 3; i++)
            size[i] = n->in[1]->shape.dim[i];
        return 3;
    case SEQUENCE: size[0] = x->dim[0], size[1] = x->dim[1]; return 2;
    case HISTORY: size[0] = shape_count(x), size[1] = past_of(n); return 2;
    case PARTWISE: size[0] = x->dim[0], size[1] = dim[1], size[2] = x->dim[1]; return 3;
    default: size[0] = shape_count(x->rank ? x : &n->shape); return 1;
    }
}

/* The line of an anchor's kernel: "linear_back_512x128". */
static KernelInfo *anchor_line(Tables *t, const Node *n, bool some, int *index) {
    char name[176];
    int64_t size[KERNEL_SIZES] = { 0 };
    int sizes = anchor_sizes(n, size), at = snprintf(name, sizeof name, "%s", op_info[n->op].name);
    for (int i = 0; i < sizes; i++)
        at += snprintf(name + at, sizeof name - (size_t)at, "%c%lld", i ? 'x' : '_',
                       (long long)size[i]);
    snprintf(name + at, sizeof name - (size_t)at, "%s", some ? SOME : "");
    KernelInfo *k = line_of(t, name, family_of(n), index);
    k->operation = op_info[n->op].name;
    k->sizes = sizes;
    memcpy(k->size, size, sizeof size);
    return k;
}

/* A row kernel's. */
static KernelInfo *row_line(Tables *t, const RowKernel *kernel, bool some, int *index) {
    char name[176];
    snprintf(name, sizeof name, "%.*s%s", (int)(sizeof name - sizeof SOME), kernel->name,
             some ? SOME : "");
    KernelInfo *k = line_of(t, name, "row", index);
    k->operation = "row";
    return k;
}

/* What a softmax takes, with its largest element and its sum: of each pair and head, or of each
** logit of a token; 'flops' are those of a token. */
static double softmax_functions(const Node *n, double flops) {
    const Shape *x = n->nin ? &n->in[0]->shape : &n->shape;
    double first = (double)x->dim[0], /* heads, or logits */
        each = op_info[OP_exp].again + op_info[OP_sub].again + op_info[OP_max].again
        + op_info[OP_add].again;
    switch (op_info[n->op].class) {
    case SEQUENCE: return each * first * flops / pair_flops(n);
    case LOSS: return each * first;
    default: return 0;
    }
}

/* The list whose rows a step works on; 0: all tokens. */
static int list_of_step(const Plan *p, const Step *s) {
    const Phase *phase = &p->phase[s->phase];
    return phase->global && s->anchor ? s->anchor->in[0]->shape.list : phase->list;
}

static int list_of_keys(const Step *s) {
    return s->kind == STEP_ANCHOR && op_info[s->anchor->op].class == SEQUENCE
        ? s->anchor->in[1]->shape.list
        : 0;
}

/* What the driver does for a prompt's last token only: sequences.c. */
static bool is_last(const Plan *p, const Step *s) {
    return s->phase == p->nphase - 1 && !p->phase[s->phase].global;
}

static void add_work(strata_work *w, const PlannedStep *s, bool last) {
    StepCost c = s->cost;
    w->calls++;
    w->flops_per_token += c.flops_per_token;
    w->bytes_per_token += c.bytes_per_token;
    w->flops_per_pair += c.flops_per_pair;
    w->bytes_constant += c.bytes_constant;
    w->operations_per_token += s->operations;
    if (last) w->last_flops += c.flops_per_token, w->last_bytes += c.bytes_per_token;
}

/* What one token reads of the weights: those of its experts.  The tokens of a training step are
** taken to choose them all. */
static double chosen_share(const Node *n) {
    if (op_info[n->op].class != EXPERT) return 1;
    double share = cost_elements(n->in[2]) / (double)n->attr->count;
    return share < 1 ? share : 1;
}

PlannedStep cost_add(Tables *t, const Plan *p, const ProgramKind *kind, int step,
                     const RowKernel *kernel, const Rows *rows) {
    const Step *s = &p->step[step];
    int index, list = list_of_step(p, s);
    bool some = list != 0;
    StepCost c = rows ? rows_cost(rows) : anchor_cost(t, s->anchor);
    if (!rows && !kind->trains) c.bytes_constant *= chosen_share(s->anchor);
    KernelInfo *k = rows ? row_line(t, kernel, some, &index)
                         : anchor_line(t, s->anchor, some, &index);
    const Node *n = rows ? (s->n ? s->node[s->n - 1] : NULL) : s->anchor;
    double flops = c.flops_per_token + c.flops_per_pair * (double)(t->info->context + 1) / 2;
    if (some) k->used |= STRATA_SOME;
    double operations = rows ? rows_operations(rows) : 0,
           functions = rows
        ? operations - c.flops_per_token
        : softmax_functions(s->anchor, flops) + cost_product_functions(t, s->anchor);
    PlannedStep planned = { index, c, list, list_of_keys(s), operations, functions };
    if (kind->counts) t->costs.flops[0] += flops;
    if (kind->which == t->generates) {
        k->used |= STRATA_DECODE;
        add_work(&k->forward, &planned, is_last(p, s));
    }
    if (kind->trains) {
        t->costs.flops[1] += flops;
        k->used |= n && n->backward ? STRATA_BACKWARD : STRATA_FORWARD;
        add_work(&k->training, &planned, false);
    }
    return planned;
}
