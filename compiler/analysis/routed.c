/* SPDX-License-Identifier: MIT
** See routed.h. */
#include "routed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kept_rows.h"
#include "plan.h"

const Convention routed_published = { .pairs = 1 };

/* Of routes that decide token by token, what the papers' tables are printed for. */
const double routed_usual = 0.1;

/* == Shares =============================================================== */

static bool same_site(const Node *a, const Node *b) {
    return a->site == b->site || (a->site && b->site && !strcmp(a->site, b->site));
}

/* The share that a mask itself has, from what its route computed it of: that of 'top', or none
** where nothing is greater than itself.  NAN: tokens decide. */
static double share_of_mask(const Graph *g, const Node *rows, bool *needed) {
    double share = NAN;
    int pending = 1;
    needed[rows->in[0]->id] = true;
    for (int i = rows->in[0]->id; pending; i--) {
        const Node *n = g->node[i];
        if (!needed[i]) continue;
        needed[i] = false, pending--;
        if (isfinite(share) || !same_site(n, rows)) continue;
        if (n->op == OP_top) share = n->attr->value;
        if (n->op == OP_greater && n->in[0] == n->in[1]) share = 0;
        for (int k = 0; class_is_row(op_info[n->op].class) && k < n->nin; k++)
            if (!needed[n->in[k]->id]) needed[n->in[k]->id] = true, pending++;
    }
    return share;
}

static bool find_routes(Report *r) {
    const Graph *g = r->model->graph;
    bool *needed = calloc((size_t)g->n + 1, sizeof *needed);
    r->lists = graph_lists(g);
    r->list = calloc((size_t)r->lists + 1, sizeof *r->list);
    for (int i = 0; needed && r->list && i < g->n; i++) {
        const Node *n = g->node[i];
        if (n->op == OP_rows)
            r->list[n->attr->count] = (RouteList){ n->site ? n->site : "model",
                                                   share_of_mask(g, n, needed) };
    }
    free(needed);
    return needed && r->list;
}

/* Around the context; beyond it where positions can be. */
static void set_lengths(Report *r) {
    static const double part[] = { 0.25, 0.5, 1, 2, 5, 10 };
    bool beyond = !r->planned.code.model.learned_positions;
    RoutedOptions *o = &r->asked;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        int64_t length = (int64_t)(part[i] * (double)r->model->context);
        if (length > 0 && (beyond || length <= r->model->context)) o->length[o->lengths++] = length;
    }
}

bool routed_prepare(Report *r) {
    if (!r->asked.shares) r->asked.share[r->asked.shares++] = NAN;
    if (!r->asked.lengths) set_lengths(r);
    return find_routes(r);
}

/* Of the tokens that a list has. */
static double routed_share_of(const Report *r, int list, double asked) {
    if (!list) return 1;
    if (isfinite(asked)) return asked;
    return list <= r->lists && isfinite(r->list[list].own) ? r->list[list].own : routed_usual;
}

int routed_lists(const Report *r, int *known) {
    *known = 0;
    for (int i = 1; i <= r->lists; i++)
        *known += isfinite(r->list[i].own);
    return r->lists;
}

void routed_share_text(const Report *r, double share, char *to, size_t size) {
    int known, n = routed_lists(r, &known);
    bool alike = true;
    double first = NAN;
    for (int i = 1; i <= r->lists; i++) {
        double own = routed_share_of(r, i, share);
        alike &= !isfinite(first) || own == first;
        first = own;
    }
    if (alike)
        print_text(to, size, "%s %% of the tokens%s", FIGURES(100 * first, 4),
                   isfinite(share)  ? ""
                       : known == n ? ", as its routes say"
                                    : ", assumed");
    else if (known == n) print_text(to, size, "as each says");
    else
        print_text(to, size, "as each says, %s %% of the tokens where it does not",
                   FIGURES(100 * routed_usual, 4));
}

/* == Work ================================================================= */

/* The form that generates is a plan of its own where it is another. */
static int generating(const Report *r) {
    return r->planned.plans.plan[PROGRAM_GENERATE] ? PROGRAM_GENERATE : PROGRAM_LOGITS;
}

/* Pairs per token of attention, by a convention that sees all of them; of averages fewer. */
static double pairs_of(const Node *n, int64_t length) {
    double count = (double)n->attr->count, window = (double)n->attr->window;
    if (n->attr->window && window < (double)length) return window;
    if (!n->attr->count) return (double)length;
    return n->attr->causal ? (double)length / count : count;
}

static double attention_flops(const Report *r, const Node *n, Convention c, int64_t length,
                              double share) {
    const Shape *q = &n->in[0]->shape, *k = &n->in[1]->shape, *v = &n->in[2]->shape;
    int64_t value = n->attr->values ? n->attr->values : v->dim[1];
    double pair = 2 * (double)q->dim[0] * (double)(k->dim[1] + value);
    return pair * c.pairs * pairs_of(n, length) * routed_share_of(r, q->list, share)
        * routed_share_of(r, k->list, share);
}

double routed_by_convention(const Report *r, Convention c, int64_t length, double share) {
    const Graph *g = r->planned.plans.plan[generating(r)]->g;
    const Node *head = plan_storage(graph_find(g, "logits"));
    double sum = 0;
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (op_info[n->op].class == SEQUENCE) sum += attention_flops(r, n, c, length, share);
        if (n->op == OP_recurrence || op_info[n->op].class == EXPERT)
            sum += op_flops(n) * routed_share_of(r, n->shape.list, share);
        if (op_info[n->op].class == CONTRACT && (n != head || c.head))
            sum += 2 * (double)shape_count(&n->in[1]->shape)
                * routed_share_of(r, n->shape.list, share);
    }
    return sum * (double)length;
}

double routed_executed(const Report *r, int kind, int64_t length, double share) {
    int which = kind == TRAINING ? PROGRAM_TRAIN : generating(r);
    const Plan *p = r->planned.plans.plan[which];
    double sum = 0;
    if (!p) return NAN;
    for (int i = 0; i < p->nstep; i++) {
        const PlannedStep *s = &r->planned.step[which][i];
        double pairs = s->cost.flops_per_pair * routed_share_of(r, s->keys, share)
            * (double)(length + 1) / 2;
        sum += routed_share_of(r, s->list, share) * (s->cost.flops_per_token + pairs);
    }
    return sum * (double)length;
}

/* == Caches =============================================================== */

/* Of d numbers of a key or a value; averages are kept as float32. */
static double routed_bytes_of(const Report *r, int bytes, const Node *n, int64_t d) {
    if (bytes != HELD_BYTES) return (double)(bytes * d);
    int kept = n->attr->count ? KEPT_F32 : r->planned.code.model.cache;
    return 4.0 * (double)kept_floats(kept, d);
}

double routed_cache(const Report *r, int bytes, int64_t length, double share) {
    const Graph *g = r->planned.plans.plan[generating(r)]->g;
    double sum = 0;
    if (r->model->ahead || r->model->acausal) return NAN;
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (op_info[n->op].class != SEQUENCE) continue;
        const Shape *k = &n->in[1]->shape, *v = &n->in[2]->shape;
        double row = (double)k->dim[0]
            * (routed_bytes_of(r, bytes, n, k->dim[1])
               + (n->attr->values ? 0 : routed_bytes_of(r, bytes, n, v->dim[1])));
        if (n->attr->window && n->attr->window < length)
            row *= (double)n->attr->window / (double)length;
        sum += row / (double)(n->attr->count ? n->attr->count : 1)
            * routed_share_of(r, k->list, share);
    }
    return sum * (double)length;
}

/* == Against the twin ===================================================== */

RoutedCost routed_cost(const Report *r, int64_t length, double share) {
    RoutedCost c;
    const Report *dense = r->dense;
    double base[COUNTINGS] = {
        [COUNT_PUBLISHED] = routed_by_convention(dense, routed_published, length, share),
        [COUNT_EXECUTED] = routed_executed(dense, FORWARD, length, share),
        [COUNT_TRAINING] = routed_executed(dense, TRAINING, length, share),
    };
    c.flops[COUNT_PUBLISHED] = routed_by_convention(r, routed_published, length, share);
    c.flops[COUNT_EXECUTED] = routed_executed(r, FORWARD, length, share);
    c.flops[COUNT_TRAINING] = routed_executed(r, TRAINING, length, share);
    for (int i = 0; i < COUNTINGS; i++)
        c.flops_of_dense[i] = c.flops[i] / base[i];
    c.published_bytes = routed_cache(r, PUBLISHED_BYTES, length, share);
    c.held_bytes = routed_cache(r, HELD_BYTES, length, share);
    c.bytes_of_dense = c.held_bytes / routed_cache(dense, HELD_BYTES, length, share);
    return c;
}
