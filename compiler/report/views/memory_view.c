/* SPDX-License-Identifier: MIT
** The memory plan as a table: every value that passes between kernels, its place, and its first
** and last step.
*/
#include "memory_view.h"
#include "views.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "site.h"
#include "work.h"

/* The folder of the library whose line computes a value tells what it is for; what the spec's own
** mixer computes, its file's name. */
const char *memory_kind(const Model *m, const Buffer *b) {
    static const char *const folder[][2] = { { "mixers/", "depth mixing" },
                                             { "norms/", "norm" },
                                             { "routes/", "route" } };
    const Node *n = work_owner(b->node);
    const char *origin = n->loc.origin ? n->loc.origin : "", *slash = strrchr(origin, '/');
    const char *file = slash ? slash + 1 : origin;
    size_t length = strlen(m->mixer);
    for (int i = 0; i < 3; i++)
        if (strstr(origin, folder[i][0])) return folder[i][1];
    if (!strncmp(file, m->mixer, length) && !strcmp(file + length, ".lua")) return folder[0][1];
    return n->site ? site_last(n->site) : "model";
}

static const MemorySpace spaces[] = {
    { SPACE_TOKEN, "token", "bytes per token", "the arena, one row per token" },
    { SPACE_LOCAL, "local", "bytes per token of a thread's chunk",
      "a thread's own, reused chunk by chunk" },
    { SPACE_GRANULE, "granule", "bytes per granule of 64 tokens", "sums over 64 tokens" },
    { SPACE_CONSTANT, "constant", "bytes", "once" },
};
_Static_assert(sizeof spaces / sizeof *spaces == MEMORY_SPACES && GRANULE == 64,
               "one row a space; the text says what a granule is");

const MemorySpace *memory_space(int i) { return &spaces[i]; }

int64_t memory_size(const Plan *p, int space) {
    int64_t floats[] = { p->token_floats, p->local_floats, p->granule_floats, p->constant_floats };
    return 4 * floats[space];
}

static int by_time(const void *x, const void *y) {
    const MemoryItem *a = x, *b = y;
    if (a->space != b->space) return a->space - b->space;
    if (a->from != b->from) return a->from - b->from;
    return (a->b->offset > b->b->offset) - (a->b->offset < b->b->offset);
}

/* Where chunks of a phase are at different steps, a place is taken for whole phases. */
static void add_item(MemoryItem *item, int *n, const Plan *p, const Buffer *b) {
    for (int s = 0; b && !b->into && s < MEMORY_SPACES; s++) {
        if (b->space != spaces[s].space) continue;
        const Phase *first = &p->phase[p->step[b->first].phase],
                    *last = &p->phase[p->step[b->last].phase];
        bool steps = b->space == SPACE_LOCAL;
        item[(*n)++] = (MemoryItem){ b, s, steps ? b->first : first->first,
                                     steps ? b->last + 1 : last->first + last->count };
    }
}

MemoryItem *memory_items(const Plan *p, int *n) {
    MemoryItem *item = graph_alloc(p->g, 2 * ((size_t)p->g->n + 1) * sizeof *item);
    *n = 0;
    for (int i = 0; i < p->g->n; i++) {
        add_item(item, n, p, p->buffer[i]);
        add_item(item, n, p, p->partial[i]);
    }
    qsort(item, (size_t)*n, sizeof *item, by_time);
    return item;
}

int64_t *memory_alive(const Plan *p, const MemoryItem *item, int n, int space) {
    int64_t *alive = calloc((size_t)p->nstep + 1, sizeof *alive);
    for (int i = 0; alive && i < n; i++) {
        if (item[i].space != space) continue;
        alive[item[i].from] += 4 * item[i].b->stride;
        alive[item[i].to] -= 4 * item[i].b->stride;
    }
    for (int i = 1; alive && i <= p->nstep; i++)
        alive[i] += alive[i - 1];
    return alive;
}

/* The most that is taken at one time: no packing could need less. */
static int64_t most_alive(const Plan *p, const MemoryItem *item, int n, int space) {
    int64_t *alive = memory_alive(p, item, n, space), most = 0;
    for (int i = 0; alive && i < p->nstep; i++)
        if (alive[i] > most) most = alive[i];
    free(alive);
    return most;
}

const Plan *memory_plan(const Report *r) {
    return r->planned.plans.plan[r->training ? PROGRAM_TRAIN : PROGRAM_LOGITS];
}

static void add_summary(const Report *r, const Plan *p, const MemoryItem *item, int n, Text *t) {
    int backward = work_backward(p);
    text_add(t, "%s: %d steps in %d phases", r->training ? "A training step" : "Reading", p->nstep,
             p->nphase);
    if (backward < p->nstep) text_add(t, "; the backward part begins at step %d", backward);
    text_add(t, "\n\n%-9s%14s%14s%8s\n", "space", "size", "alive at most", "values");
    for (int s = 0; s < MEMORY_SPACES; s++) {
        char a[32], b[32];
        int count = 0;
        for (int i = 0; i < n; i++)
            count += item[i].space == s;
        if (!count) continue;
        text_add(t, "%-9s%14s%14s%8d  %s: %s\n", spaces[s].name,
                 human_bytes(a, (double)memory_size(p, s)),
                 human_bytes(b, (double)most_alive(p, item, n, s)), count, spaces[s].unit,
                 spaces[s].what);
    }
}

/* What lies outside the arena, where not all is trained alike. */
static void add_training(const Report *r, Text *t) {
    char a[32], b[32];
    if (!r->training || !r->planned.code.model.tuning_table) return;
    text_add(t,
             "gradients %s, optimizer %s; %" PRId64 " of %" PRId64
             " parameters are trained, %" PRId64 " tensors are frozen\n",
             human_bytes(a, (double)r->memory.gradients),
             human_bytes(b, (double)r->memory.optimizer), r->trained, r->model->parameters,
             r->frozen);
}

void report_memory_text(const Report *r, Text *t) {
    const Plan *p = memory_plan(r);
    int n;
    const MemoryItem *item = memory_items(p, &n);
    add_summary(r, p, item, n, t);
    add_training(r, t);
    text_add(t, "\n%-9s%10s%9s%14s  %s\n", "space", "offset", "bytes", "steps", "value");
    for (int i = 0; i < n; i++) {
        const Buffer *b = item[i].b;
        char steps[32];
        print_text(steps, sizeof steps, "%d-%d", item[i].from, item[i].to - 1);
        text_add(t, "%-9s%10" PRId64 "%9" PRId64 "%14s  ", spaces[item[i].space].name,
                 4 * b->offset, 4 * b->stride, steps);
        memory_name(b, t);
        text_add(t, "\n");
    }
}

void memory_name(const Buffer *b, Text *t) {
    const Node *n = b->node;
    text_add(t, "%s %s of %s%s", op_info[work_owner(n)->op].name, shape_text(n->g, &n->shape),
             n->site ? n->site : "the model", n->backward ? ", backward" : "");
}
