/* SPDX-License-Identifier: MIT
** Runs of cotangents: see gradient_runs.h. */
#include "gradient_runs.h"

#include <string.h>

GradientRuns gradient_runs(Graph *g, const bool *leads) {
    size_t n = (size_t)g->n + 1;
    GradientRuns r = { graph_alloc(g, n * sizeof *r.run), graph_alloc(g, n * sizeof *r.of), leads };
    memset(r.of, -1, n * sizeof *r.of);
    return r;
}

bool gradient_run_long(const Node *n) { return n->op == OP_stack && n->nin > RUN_PIECES; }

static void runs_add_piece(const Node *piece, Node *sum, int at, AddCotangent *add, void *user) {
    add(user, piece, op_reshape(op_slice(sum, 0, at, 1), &piece->shape));
}

/* Takes the pieces from 'length' on out of the run. */
static void shorten(GradientRuns *r, GradientRun *run, int length, AddCotangent *add, void *user) {
    for (int i = length; i < run->length; i++) {
        if (!r->leads[run->stack->in[i]->id]) continue;
        r->of[run->stack->in[i]->id] = -1;
        runs_add_piece(run->stack->in[i], run->sum, i, add, user);
    }
    run->length = length;
}

/* The number of operands with which both begin; an operand that occurs twice ends the count. */
static int common(const GradientRun *run, const Node *stack) {
    int n = 0;
    while (n < run->length && n < stack->nin && run->stack->in[n] == stack->in[n])
        n++;
    return n;
}

/* The operands that a new run can have: operands of no other run, each once, and constants. */
static int claim(GradientRuns *r, const Node *stack) {
    int first = stack->in[0]->id, n = 0;
    for (; n < stack->nin && r->of[stack->in[n]->id] < 0; n++)
        if (r->leads[stack->in[n]->id]) r->of[stack->in[n]->id] = first;
    return n;
}

/* The first 'length' pieces of a sum or a cotangent; with 'bare' they are added up over tokens. */
static Node *beginning(Node *x, int length, bool bare) {
    Node *part = op_slice(x, 0, 0, length);
    Shape shape = part->shape;
    shape.lead = LEAD_NONE, shape.list = 0;
    return bare ? op_fit(part, &shape) : part;
}

/* A stack has rows of tokens, or of a list, if one of its pieces has.  The common beginning of two
** stacks has none if one of them has none or other rows. */
static Node *runs_joined(Node *sum, Node *dy, int length) {
    bool bare = sum->shape.lead != dy->shape.lead || sum->shape.list != dy->shape.list;
    return op_add(beginning(sum, length, bare), beginning(dy, length, bare));
}

void gradient_run_add(GradientRuns *r, const Node *stack, Node *dy, AddCotangent *add, void *user) {
    GradientRun *run = &r->run[stack->in[0]->id];
    int length = run->stack ? common(run, stack) : 0;
    if (length > RUN_PIECES) {
        shorten(r, run, length, add, user);
        run->sum = runs_joined(run->sum, dy, length);
    } else {
        if (run->stack) shorten(r, run, 0, add, user);
        length = claim(r, stack);
        *run = (GradientRun){ stack, dy, length };
    }
    run->stack = stack;
    for (int i = length; i < stack->nin; i++)
        if (r->leads[stack->in[i]->id]) runs_add_piece(stack->in[i], dy, i, add, user);
}

void gradient_run_due(GradientRuns *r, const Node *n, AddCotangent *add, void *user) {
    if (r->of[n->id] < 0) return;
    GradientRun *run = &r->run[r->of[n->id]];
    int at = run->length;
    while (at > 0 && run->stack->in[at - 1] != n)
        at--;
    if (at) shorten(r, run, at - 1, add, user);
}
