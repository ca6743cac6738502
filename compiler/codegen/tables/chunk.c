/* SPDX-License-Identifier: MIT
** How many tokens a task takes at most through the steps of a token phase: as many as move least.
** Every chunk streams the phase's weights again, so that large ones cost less; what passes
** between its steps is written and read again where a chunk of it is more than the
** second-level cache holds.  Counted are bytes per token, over all token phases of the program
** that the build is for: nothing is timed, the same spec is the same code.
**
** At most LARGEST: all threads are to have tasks of a few thousand tokens.  With vectors of 16
** floats LARGEST_WIDE: products take half the time or, in tiles, a tenth, and wait for weights as
** long (measured at D 512 and 768: float32 +6 %, bfloat16 in tiles +4 to +6 % tokens per second).
*/
#include "tables.h"

enum { SMALLEST = 64, LARGEST = 256, WIDE = 16, LARGEST_WIDE = 512 };

/* Weights come from further away than what another chunk has pushed out: so dear that no smaller
** chunk is taken where 64 to 512 tokens were measured alike (D 128 and 256, hidden 1024). */
static const double weight_price = 4;

/* Of a phase: bytes of its weights, and per token the bytes of what passes between its steps:
** those moved, and those that live at one time. */
typedef struct Traffic {
    double weights, passing, live;
} Traffic;

static double bytes_of(const Node *n) {
    return (plan_bf16(n) ? 2.0 : 4.0) * (double)shape_count(&n->shape);
}

/* Bytes that are there after each step and not before it; a value that later phases read too is
** written all the same. */
static void add_values(const Plan *p, Traffic *x, double *more) {
    for (int i = 0; i < p->g->n; i++) {
        const Buffer *b = p->buffer[i];
        if (!b || b->into || b->node->shape.lead != LEAD_TOKENS || b->last <= b->first) continue;
        int number = p->step[b->first].phase;
        const Phase *phase = &p->phase[number];
        int end = phase->first + phase->count < b->last ? phase->first + phase->count : b->last;
        x[number].passing += 2 * bytes_of(b->node);
        more[b->first] += bytes_of(b->node);
        more[end] -= bytes_of(b->node);
    }
}

/* As they are packed. */
static double weight_bytes(const Tables *t, const Node *w) {
    int bits = params_small(&t->layout, w);
    return bits ? bits / 8.0 : t->bytes.constants.bf16 ? 2 : t->parts ? 6 : 4;
}

static void add_steps(const Tables *t, const Plan *p, Traffic *x, const double *more) {
    double live = 0;
    for (int s = 0; s < p->nstep; s++) {
        Traffic *own = &x[p->step[s].phase];
        const Node *n = p->step[s].kind == STEP_ANCHOR ? p->step[s].anchor : NULL;
        if (n && op_info[n->op].class == CONTRACT)
            own->weights += weight_bytes(t, n->in[1]) * (double)shape_count(&n->in[1]->shape);
        live += more[s];
        if (live > own->live) own->live = live;
    }
}

static double bytes_a_token(Traffic x, int tokens, double cache) {
    double beyond = x.live * tokens > cache ? 1 - cache / (x.live * tokens) : 0;
    return weight_price * x.weights / tokens + beyond * x.passing;
}

int chunk_of(const Tables *t, const Plan *p) {
    Traffic *x = graph_alloc(p->g, ((size_t)p->nphase + 1) * sizeof *x);
    double *more = graph_alloc(p->g, ((size_t)p->nstep + 1) * sizeof *more), least = 0;
    int best = 0;
    add_values(p, x, more);
    add_steps(t, p, x, more);
    for (int tokens = t->lanes < WIDE ? LARGEST : LARGEST_WIDE; tokens >= SMALLEST; tokens /= 2) {
        double bytes = 0;
        for (int i = 0; i < p->nphase; i++)
            if (!p->phase[i].global) bytes += bytes_a_token(x[i], tokens, (double)t->cache_bytes);
        if (best && bytes >= least) continue;
        best = tokens;
        least = bytes;
    }
    return best;
}
