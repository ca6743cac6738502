/* SPDX-License-Identifier: MIT
** The memory of a run: what it takes, and for train --dry-run what it would take, by purpose,
** against what is free.
*/
#include "train.h"

#include <stdlib.h>

#include "machine.h"

int run_open_memory(Run *r, Error *e) {
    Session *s = &r->s;
    int64_t tokens = r->state.batch * r->state.context;
    int status = session_weights(s, e);
    if (!status) status = session_train(s, e);
    if (!status) status = session_arena(s, tokens, false, e);
    if (!status)
        status = step_sums_open(&r->sums, s, program_reducer(r->p), r->state.accumulate, e);
    r->numbers = status
        ? NULL
        : calloc((size_t)(r->state.accumulate * step_numbers(r)), sizeof *r->numbers);
    r->routed = status ? NULL : calloc((size_t)r->p->m->routed + 1, sizeof *r->routed);
    r->late_routed = status ? NULL : calloc((size_t)r->p->m->routed + 1, sizeof *r->late_routed);
    r->load = status ? NULL : calloc((size_t)r->p->m->tensors + 1, sizeof *r->load);
    r->val_loss = status ? NULL : calloc((size_t)r->val.sources + 1, sizeof *r->val_loss);
    r->epochs = status ? NULL : calloc((size_t)r->data.sources, sizeof *r->epochs);
    r->tokens = status ? NULL : malloc((size_t)tokens * sizeof *r->tokens);
    r->targets = status ? NULL : malloc((size_t)tokens * sizeof *r->targets);
    bool rows = r->tokens && r->targets && r->val_loss && r->epochs;
    if (!status && !(rows && r->numbers && r->routed && r->late_routed && r->load))
        status = error_memory(e, "tokens", (size_t)tokens * sizeof *r->tokens * 2);
    return status;
}

static void row(Text *t, const char *what, double bytes) {
    char size[32];
    text_add(t, "%-24s%12s\n", what, human_bytes(size, bytes));
}

int run_memory(const Program *p, Session *s, const Checkpoint *c, Error *e) {
    const strata_model *m = p->m;
    int64_t tokens = c->batch * c->context;
    size_t arena;
    if (!session_arena_bytes(s, tokens, &arena)) return error_memory(e, "activations", SIZE_MAX);
    double gradients = (double)m->gradients * sizeof(float),
           packed = (double)strata_packed_bytes(m),
           sums = (double)step_sums_bytes(m, c->accumulate, program_reducer(p));
    double rows = 2.0 * (double)tokens * sizeof(int32_t);
    double total = (double)m->weights_bytes + (double)m->train_bytes + (double)arena
        + (double)m->ctx_bytes + rows + sums;
    double room = machine_memory_free();
    Text t = { 0 };
    char size[32];
    text_add(&t, "%s: %lld parameters, %lld windows of %lld tokens at once, %d threads\n",
             model_text(p, m->name), (long long)m->parameters, (long long)c->batch,
             (long long)c->context, s->workers);
    row(&t, "weights", (double)m->weights_bytes);
    row(&t, "gradients", gradients);
    if (sums > 0) row(&t, "  put aside", sums);
    row(&t, "optimizer", (double)strata_optimizer_bytes(m));
    if (packed > 0) row(&t, "packed weights", packed);
    row(&t, "activations", (double)arena);
    row(&t, "  per token", (double)m->arena_per_token);
    row(&t, "tokens and control", rows + (double)m->ctx_bytes);
    row(&t, "total, without the text", total);
    if (room > 0)
        text_add(&t, "%-24s%12s%s\n", "free", human_bytes(size, room),
                 total > room ? ": it does not fit" : "");
    return console_lines(&t, e);
}
