/* SPDX-License-Identifier: MIT
** Reverse-mode differentiation.  It walks backwards, once, over the nodes between trained
** parameters and the loss, and adds each row's vjp to the cotangents of its operands.  The order
** is always the same, so that the sums have the same bits.
**
** A cotangent has exactly the shape of its node: if a vjp returns the broadcast shape, op_fit sums
** it back.
*/
#include "passes.h"

#include <string.h>

#include "gradient_runs.h"

typedef struct Gradient {
    Graph *g;
    const OpInfo *rules;
    int count;              /* nodes before the pass */
    Node *(*dy)[MAXRESULT]; /* by node and result; NULL: nothing flows */
    bool *reached;          /* the loss is made of it */
    bool *leads;            /* it is made of a parameter that is trained */
    GradientRuns runs;      /* of long lists */
} Gradient;

static void mark(Gradient *d, const Node *loss) {
    const Graph *g = d->g;
    d->reached[loss->id] = true;
    graph_mark_operands(g, d->reached);
    for (int i = 0; i < g->nparam; i++)
        d->leads[g->param[i].node->id] = !g->param[i].node->attr->buffer
            && !g->param[i].tuning.frozen;
    for (int i = 0; i < d->count; i++)
        for (int k = 0; k < g->node[i]->nin; k++)
            d->leads[i] |= d->leads[g->node[i]->in[k]->id];
}

static void gradient_accumulate(Node **slot, Node *dx, const Shape *s) {
    dx = op_fit(dx, s);
    *slot = *slot ? op_add(*slot, dx) : dx;
}

/* Adds a cotangent to an operand of the current node, or to a run. */
static void gradient_add_operand(void *user, const Node *operand, Node *dx) {
    Gradient *d = user;
    if (d->leads[operand->id]) gradient_accumulate(&d->dy[operand->id][0], dx, &operand->shape);
}

static bool flows(Node *const *dy) {
    for (int r = 0; r < MAXRESULT; r++)
        if (dy[r]) return true;
    return false;
}

/* Adds the cotangents of n's results to those of its operands. */
static void gradient_back(Gradient *d, Node *n, Node **dx) {
    Node **dy = d->dy[n->id];
    d->g->loc = n->loc; /* a gradient comes from where its op does */
    d->g->site = n->site;
    if (d->rules[n->op].class == SIDE) {
        gradient_accumulate(&d->dy[n->in[0]->id][n->attr->first], dy[0], &n->shape);
        return;
    }
    if (gradient_run_long(n)) {
        gradient_run_add(&d->runs, n, dy[0], gradient_add_operand, d);
        return;
    }
    memset(dx, 0, (size_t)n->nin * sizeof *dx);
    d->rules[n->op].vjp(n, dy, dx);
    for (int k = 0; k < n->nin; k++)
        if (dx[k]) gradient_add_operand(d, n->in[k], dx[k]);
}

/* A node's cotangents are complete when no node after it is left. */
static void visit(Gradient *d, Node *n, Node **dx) {
    if (!d->reached[n->id] || !d->leads[n->id]) return;
    gradient_run_due(&d->runs, n, gradient_add_operand, d);
    if (flows(d->dy[n->id])) gradient_back(d, n, dx);
}

/* The node that replaces a buffer's gradient; NULL if there is none. */
static Node *statistic_of(Graph *g, const Node *buffer) {
    char *name = graph_alloc(g, strlen(buffer->attr->name) + sizeof STATISTIC);
    return graph_find(g, strcat(strcpy(name, STATISTIC), buffer->attr->name));
}

static void add_output(Graph *g, const Node *param, Node *dy) {
    char *name = graph_alloc(g, strlen(param->attr->name) + sizeof GRADIENT);
    strcat(strcpy(name, GRADIENT), param->attr->name);
    g->loc = param->loc;
    g->site = param->site;
    graph_output(g, name, dy ? dy : op_full(g, &param->shape, 0));
}

void pass_gradient_rules(Graph *g, const OpInfo *rules) {
    Node *loss = graph_find(g, "loss");
    Loc loc = g->loc;
    const char *site = g->site;
    if (!loss) bug(NULL, "there is no output 'loss' to differentiate");
    if (loss->shape.rank || loss->shape.lead != LEAD_NONE)
        bug(loss, "the loss must be one number, not %s", shape_text(g, &loss->shape));
    Gradient d = { .g = g, .rules = rules, .count = g->n };
    d.dy = graph_alloc(g, (size_t)g->n * sizeof *d.dy);
    d.reached = graph_alloc(g, (size_t)g->n * sizeof *d.reached);
    d.leads = graph_alloc(g, (size_t)g->n * sizeof *d.leads);
    d.runs = gradient_runs(g, d.leads);
    Node **dx = graph_alloc(g, ((size_t)graph_most_operands(g) + 1) * sizeof *dx);
    mark(&d, loss);

    g->backward = true;
    d.dy[loss->id][0] = op_source(g, OP_seed);
    for (int i = loss->id; i >= 0; i--)
        visit(&d, g->node[i], dx);
    for (int i = 0; i < g->nparam; i++) {
        Node *p = g->param[i].node;
        Node *dy = p->attr->buffer ? statistic_of(g, p) : d.dy[p->id][0];
        if (g->param[i].tuning.frozen) continue;
        if (d.reached[p->id] && (dy || !p->attr->buffer)) add_output(g, p, dy);
    }
    g->backward = false;
    g->loc = loc;
    g->site = site;
}

void pass_gradient(Graph *g) { pass_gradient_rules(g, op_info); }
