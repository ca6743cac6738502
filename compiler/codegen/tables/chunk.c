/* SPDX-License-Identifier: MIT
** The largest number of tokens that a task takes through the steps of a token phase: the number
** that moves the fewest bytes.  Every chunk reads the phase's weights again, so large chunks read
** less.  What passes between the steps of a chunk is written to memory and read again if it is
** larger than the second-level cache, so small chunks move less there.  The count is bytes per
** token over all token phases of the program that the build is for.  Nothing is timed: the same
** spec gives the same code.
**
** The target sets the maximum, so that all threads have work in a call of a few thousand tokens.
*/
#include "tables.h"

enum { WIDE = 16 }; /* lanes */

/* Of a phase: bytes of its weights, and per token the bytes of what passes between its steps:
** those moved, and those that live at one time. */
typedef struct Traffic {
    double weights, passing, live;
} Traffic;

static double chunk_bytes_of(const Node *n) {
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
        x[number].passing += 2 * chunk_bytes_of(b->node);
        more[b->first] += chunk_bytes_of(b->node);
        more[end] -= chunk_bytes_of(b->node);
    }
}

/* As they are packed. */
static double weight_bytes(const Tables *t, const Node *w) {
    int bits = params_small(&t->layout, w);
    return bits ? bits / 8.0 : t->bytes.constants.bf16 ? 2 : t->rates.parts ? 6 : 4;
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

static double bytes_a_token(const Tables *t, Traffic x, int tokens) {
    double live = x.live * tokens, cache = (double)t->rates.cache_bytes;
    double beyond = live > cache ? 1 - cache / live : 0;
    return t->rates.target->weight_price * x.weights / tokens + beyond * x.passing;
}

int chunk_of(const Tables *t, const Plan *p) {
    Traffic *x = graph_alloc(p->g, ((size_t)p->nphase + 1) * sizeof *x);
    double *more = graph_alloc(p->g, ((size_t)p->nstep + 1) * sizeof *more), least = 0;
    int best = 0;
    add_values(p, x, more);
    add_steps(t, p, x, more);
    int most = t->rates.lanes < WIDE ? t->rates.target->largest_chunk : t->rates.target->wide_chunk;
    for (int tokens = most; tokens >= t->rates.target->smallest_chunk; tokens /= 2) {
        double bytes = 0;
        for (int i = 0; i < p->nphase; i++)
            if (!p->phase[i].global) bytes += bytes_a_token(t, x[i], tokens);
        if (best && bytes >= least) continue;
        best = tokens;
        least = bytes;
    }
    return best;
}
