/* SPDX-License-Identifier: MIT
** The schedule: takes nodes in the order of their times (slots.c) and makes steps and phases of
** them.  It does not change the graph.
*/
#include "descent.h"
#include "passes.h"
#include "slots.h"

#include <string.h>

typedef struct Builder {
    Plan *p;
    Slots *s;
    Graph *g;
    int *head, *next;         /* nodes by time: a list each */
    int *sum_head, *sum_next; /* token sums by the slot of their partial sums */
    int *uses;
    int *reads; /* by node: how many nodes read it, as it is or reshaped, or add it to gradients */
    NodeList pieces; /* of a sum that is being taken apart */
    int *adds;       /* by node: id of the parameter whose gradient it is a piece of, -1: none */
    int lists;       /* the largest number of a list of rows */
    bool *in_slot;   /* by list: rows of a slot are of it */
    /* by parameter: pieces of its gradient so far in an event; by node: which of them it is */
    int *taken, *round;
} Builder;

static void add_part(Plan *p, const Node *n, const Node *param) {
    if (n->op == OP_fill && !p->rules) return; /* a zero gradient: nothing to add */
    p->part[p->npart++] = (Contribution){ n, param };
}

/* Whether n, and whatever n is a reshape of, has exactly one reader. */
static bool is_read_once(const Builder *b, const Node *n) {
    const Node *x = plan_storage(n);
    for (; n != x; n = n->in[0])
        if (b->uses[n->id] != 1) return false;
    return b->uses[x->id] == 1;
}

/* A gradient that is a sum of pieces without other readers is added up in place, piece by piece. */
static void split_sum(Builder *b, const Node *sum, const Node *param) {
    NodeList *rest = &b->pieces;
    node_list_push(b->g, rest, sum);
    while (rest->n) {
        const Node *n = rest->node[--rest->n], *x = plan_storage(n);
        if (x->op != OP_add || !is_read_once(b, n) || !shape_equal(&x->in[0]->shape, &x->shape)
            || !shape_equal(&x->in[1]->shape, &x->shape)) {
            add_part(b->p, x, param);
            continue;
        }
        b->s->needed[n->id] = b->s->needed[x->id] = false;
        node_list_push(b->g, rest, x->in[1]);
        node_list_push(b->g, rest, x->in[0]);
    }
}

/* A table by node id, filled with -1. */
static int *new_ids(Graph *g) {
    size_t size = ((size_t)g->n + 1) * sizeof(int);
    return memset(graph_alloc(g, size), -1, size);
}

/* A token sum that is a piece of one gradient and has no other reader is added to the gradient in
** the slot that computes it; any other sum is stored.  Nodes that only pieces need lose these
** uses. */
static void count_reads(Builder *b) {
    Graph *g = b->g;
    b->reads = graph_scratch(g, ((size_t)g->n + 1) * sizeof *b->reads);
    for (int i = 0; i < g->n; i++)
        for (int k = 0; b->s->needed[i] && k < g->node[i]->nin; k++)
            if (g->node[i]->op != OP_reshape) b->reads[plan_storage(g->node[i]->in[k])->id]++;
    for (int i = 0; i < b->p->npart; i++)
        b->reads[b->p->part[i].node->id]++;
}

static void find_parts(Builder *b) {
    Graph *g = b->g;
    b->p->part_of = new_ids(g);
    b->p->pieces = graph_alloc(g, ((size_t)g->n + 1) * sizeof *b->p->pieces);
    b->uses = graph_uses(g, b->s->needed);
    b->p->part = graph_alloc(g, ((size_t)g->n + 1) * sizeof *b->p->part);
    for (int i = 0; i < g->nout; i++) {
        if (!g->out[i].param) continue;
        const Param *param = graph_find_param(g, g->out[i].param);
        if (!param) bug(g->out[i].node, "is the gradient of no parameter");
        Pieces *of = &b->p->pieces[param->node->id];
        of->first = b->p->npart;
        if (b->p->rules) add_part(b->p, plan_storage(g->out[i].node), param->node);
        else split_sum(b, g->out[i].node, param->node);
        of->count = b->p->npart - of->first;
    }
    count_reads(b);
    size_t ids = ((size_t)g->n + 1) * sizeof *b->adds;
    b->adds = memset(graph_scratch(g, ids), -1, ids);
    for (int i = 0; i < b->p->npart; i++)
        b->adds[b->p->part[i].node->id] = b->p->part[i].param->id;
    for (int i = b->p->npart; i-- > 0;)
        b->p->part_of[b->p->part[i].node->id] = i;
    b->taken = graph_scratch(g, ((size_t)g->n + 1) * sizeof *b->taken);
    b->round = graph_scratch(g, ((size_t)g->n + 1) * sizeof *b->round);
}

static void file_node(int *head, int *next, int time, int id) {
    next[id] = head[time];
    head[time] = id;
}

static void new_lists(Builder *b, int **head, int **next) {
    size_t times = (size_t)b->s->times + 2;
    *head = graph_scratch(b->g, times * sizeof **head);
    *next = graph_scratch(b->g, ((size_t)b->g->n + 1) * sizeof **next);
    memset(*head, -1, times * sizeof **head);
}

/* Lists every node under the time at which it runs; walking ids downwards leaves each list in
** order. A token_sum is in two lists: one for its partial sums, one for its end. */
static void file_nodes(Builder *b) {
    new_lists(b, &b->head, &b->next);
    new_lists(b, &b->sum_head, &b->sum_next);
    for (int i = b->g->n; i-- > 0;) {
        const Node *x = b->g->node[i];
        Domain d = b->s->domain[i];
        if (!b->s->needed[i] || op_info[x->op].class == SIDE) continue;
        if (d == DOMAIN_ROW || d == DOMAIN_TOKEN || d == DOMAIN_GLOBAL || d == DOMAIN_UNIFORM)
            file_node(b->head, b->next, b->s->time[i], i);
        if (op_info[x->op].class == TOKENSUM)
            file_node(b->sum_head, b->sum_next, b->s->partial[i], i);
    }
}

/* 'list': whose rows a step of a token phase takes */
static Step *add_step(Builder *b, StepKind kind, bool global, int list) {
    Plan *p = b->p;
    const Phase *last = p->nphase ? &p->phase[p->nphase - 1] : NULL;
    if (!last || last->global != global || last->list != list)
        p->phase[p->nphase++] = (Phase){ global, list, p->nstep, 0 };
    p->phase[p->nphase - 1].count++;
    Step *s = &p->step[p->nstep++];
    s->kind = kind;
    s->phase = p->nphase - 1;
    return s;
}

static int list_of_sum(const Builder *b, int sum) { return b->g->node[sum]->in[0]->shape.list; }

/* The row kernel of a slot and a list: its row nodes, then the token sums that end there. */
static void schedule_add_rows(Builder *b, int slot, int list) {
    int n = 0, real = 0, sums = 0;
    for (int i = b->head[slot]; i >= 0; i = b->next[i]) {
        if (b->g->node[i]->shape.list != list) continue;
        n++;
        real += b->g->node[i]->op != OP_reshape;
        b->p->step_of[i] = -1;
    }
    for (int i = b->sum_head[slot]; i >= 0; i = b->sum_next[i])
        sums += list_of_sum(b, i) == list;
    if (!real && !sums) return;
    Step *s = add_step(b, STEP_ROW, false, list);
    s->node = graph_alloc(b->g, (size_t)(n + sums) * sizeof *s->node);
    for (int i = b->head[slot]; i >= 0; i = b->next[i]) {
        if (b->g->node[i]->shape.list != list) continue;
        s->node[s->n++] = b->g->node[i];
        b->p->step_of[i] = b->p->nstep - 1;
    }
    for (int i = b->sum_head[slot]; i >= 0; i = b->sum_next[i])
        if (list_of_sum(b, i) == list) s->node[s->n++] = b->g->node[i];
}

static void add_anchor(Builder *b, int id, bool global) {
    bool sum = op_info[b->g->node[id]->op].class == TOKENSUM;
    Step *s = add_step(b, sum ? STEP_REDUCE : STEP_ANCHOR, global,
                       global ? 0 : b->g->node[id]->shape.list);
    s->anchor = b->g->node[id];
    b->p->step_of[id] = b->p->nstep - 1;
}

/* A piece of several gradients, or a piece with other readers, is added by the uniform step. */
static bool is_kept_part(const Builder *b, int id) {
    return b->s->domain[id] == DOMAIN_GLOBAL && b->reads[id] > 1 && b->adds[id] >= 0;
}

static bool is_plain_uniform(const Builder *b, int id) {
    return b->s->domain[id] == DOMAIN_UNIFORM && !plan_turned(b->g->node[id]);
}

static void add_node(Builder *b, Step *s, int id) {
    s->node[s->n++] = b->g->node[id];
    b->p->step_of[id] = b->p->nstep - 1;
}

/* One step per transposed parameter: all layers share one kernel, which is called once for each. */
static void add_turned(Builder *b, int first) {
    for (int i = first; i >= 0; i = b->next[i]) {
        const Node *x = b->g->node[i];
        if (b->s->domain[i] != DOMAIN_UNIFORM || !plan_turned(x)) continue;
        if (x->op == OP_transpose) {
            Step *s = add_step(b, STEP_UNIFORM, true, 0);
            s->node = graph_alloc(b->g, sizeof *s->node);
            add_node(b, s, i);
        } else {
            b->p->step_of[i] = b->p->step_of[plan_storage(x)->id]; /* a reshape */
        }
    }
}

/* Uniform nodes of a global phase run after its tasks.  Transposed parameters have kernels of their
** own; all other nodes are one kernel, the last, which also adds those sums to gradients that other
** nodes read too. */
static void add_uniform(Builder *b, int time) {
    int first = b->head[time], n = 0, shared = 0;
    add_turned(b, first);
    for (int i = first; i >= 0; i = b->next[i]) {
        n += is_plain_uniform(b, i);
        shared += is_kept_part(b, i);
    }
    if (!n && !shared) return;
    Step *s = add_step(b, STEP_UNIFORM, true, 0);
    s->node = graph_alloc(b->g, ((size_t)n + 1) * sizeof *s->node);
    for (int i = first; i >= 0; i = b->next[i])
        if (is_plain_uniform(b, i)) add_node(b, s, i);
}

/* Tasks of a phase run in parallel.  Additions to the same gradient (of a parameter that is used
** several times) are therefore in consecutive phases, called rounds.  The uniform step, which adds
** the stored sums, belongs to one of the last rounds. */
static int find_rounds(const Builder *b, int first) {
    int rounds = 1;
    for (int i = first; i >= 0; i = b->next[i]) {
        if (b->adds[i] >= 0 && b->s->domain[i] != DOMAIN_UNIFORM && !is_kept_part(b, i))
            b->round[i] = b->taken[b->adds[i]]++;
        if (b->round[i] >= rounds) rounds = b->round[i] + 1;
    }
    for (int i = first; i >= 0; i = b->next[i]) {
        if (b->adds[i] >= 0) b->taken[b->adds[i]] = 0;
        if (is_kept_part(b, i)) b->round[i] = rounds - 1;
    }
    return rounds;
}

static void add_event(Builder *b, int time) {
    int first = b->head[time];
    if (first < 0) return;
    bool global = b->s->phase[first] % 2 == 1;
    int rounds = find_rounds(b, first);
    for (int round = 0; round < rounds; round++) {
        if (round) b->p->phase[b->p->nphase++] = (Phase){ true, 0, b->p->nstep, 0 };
        for (int i = first; i >= 0; i = b->next[i])
            if (b->s->domain[i] != DOMAIN_UNIFORM && b->round[i] == round) add_anchor(b, i, global);
    }
    if (global) add_uniform(b, time);
}

/* The list whose rows the phase after a slot takes, whether it begins or continues there; -1 if it
** is global. */
static int list_after(const Builder *b, int slot) {
    int next = slot + 1 <= b->s->times ? b->head[slot + 1] : -1;
    return next < 0 || b->s->phase[next] % 2 ? -1 : b->g->node[next]->shape.list;
}

/* Rows of different lists need different kernels.  This emits the kernels of the open phase's list
** first and those of the next phase's list last; otherwise one of these phases would be split. */
static void add_slot(Builder *b, int slot) {
    const Plan *p = b->p;
    int first = p->nphase && !p->phase[p->nphase - 1].global ? p->phase[p->nphase - 1].list : -1,
        last = list_after(b, slot);
    memset(b->in_slot, 0, (size_t)b->lists + 1);
    for (int i = b->head[slot]; i >= 0; i = b->next[i])
        b->in_slot[b->g->node[i]->shape.list] = true;
    for (int i = b->sum_head[slot]; i >= 0; i = b->sum_next[i])
        b->in_slot[list_of_sum(b, i)] = true;
    if (first >= 0 && first != last && b->in_slot[first]) schedule_add_rows(b, slot, first);
    for (int list = 0; list <= b->lists; list++)
        if (b->in_slot[list] && list != last && list != first) schedule_add_rows(b, slot, list);
    if (last >= 0 && b->in_slot[last]) schedule_add_rows(b, slot, last);
}

/* Two global phases without a token step between them stay separate, because the second one reads
** the results of the first. */
static void schedule_walk(Builder *b) {
    for (int t = 0; t <= b->s->times; t++) {
        if (t % 2 == 0) add_slot(b, t);
        else {
            int before = b->p->nphase;
            bool was_global = before && b->p->phase[before - 1].global;
            int first = b->head[t];
            if (first >= 0 && was_global && b->s->phase[first] % 2 == 1)
                b->p->phase[b->p->nphase++] = (Phase){ true, 0, b->p->nstep, 0 };
            add_event(b, t);
        }
    }
}

static bool is_constant_part(const Builder *b, const Contribution *c) {
    Domain d = b->s->domain[c->node->id];
    return d == DOMAIN_NONE || d == DOMAIN_PARAM;
}

static void add_constant_phase(Builder *b) {
    Plan *p = b->p;
    p->phase[p->nphase++] = (Phase){ true, 0, p->nstep, 0 };
    add_step(b, STEP_UNIFORM, true, 0);
}

/* Gradients that depend on no token get a last phase of their own, and so does each rule. */
static void add_constant_parts(Builder *b) {
    Plan *p = b->p;
    bool any = false;
    for (int i = 0; i < p->npart; i++) {
        if (!is_constant_part(b, &p->part[i])) continue;
        if (!any || p->rules) add_constant_phase(b);
        any = true;
        p->step_of[p->part[i].node->id] = p->nstep - 1;
    }
}

static void find_earliest(const Plan *p) {
    for (int i = 0; i < p->g->nparam; i++) {
        Pieces *of = &p->pieces[p->g->param[i].node->id];
        for (int k = of->first; k < of->first + of->count; k++) {
            int step = p->step_of[p->part[k].node->id];
            if (k == of->first || step < of->earliest) of->earliest = step;
        }
    }
}

static void list_sides(Plan *p) {
    p->next_side = new_ids(p->g);
    for (int i = p->g->n; i-- > 0;) {
        const Node *n = p->g->node[i];
        if (op_info[n->op].class != SIDE) continue;
        p->next_side[i] = p->next_side[n->in[0]->id];
        p->next_side[n->in[0]->id] = i;
    }
}

Plan *pass_schedule(Graph *g, const Alike *alike) {
    size_t n = (size_t)g->n + 1;
    Plan *p = graph_alloc(g, sizeof *p);
    Builder b = { .p = p, .g = g, .s = slots_find(g, false, alike) };
    p->g = g;
    p->alike = alike;
    for (int i = 0; i < g->n; i++)
        p->rules |= g->node[i]->op == OP_statistic;
    b.lists = graph_lists(g);
    b.in_slot = graph_scratch(g, (size_t)b.lists + 1);
    p->domain = b.s->domain;
    p->step = graph_alloc(g, 2 * n * sizeof *p->step);
    p->phase = graph_alloc(g, 2 * n * sizeof *p->phase);
    p->step_of = new_ids(g);
    p->buffer = graph_alloc(g, n * sizeof *p->buffer);
    find_parts(&b);
    file_nodes(&b);
    schedule_walk(&b);
    add_constant_parts(&b);
    find_earliest(p);
    list_sides(p);
    return p;
}
