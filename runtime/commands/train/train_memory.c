/* SPDX-License-Identifier: MIT
** train --dry-run: memory by purpose, against what is free.
*/
#include "machine.h"
#include "train.h"

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
           packed = (double)strata_packed_bytes(m);
    double rows = 2.0 * (double)tokens * sizeof(int32_t);
    double total = (double)m->weights_bytes + (double)m->train_bytes + (double)arena
        + (double)m->ctx_bytes + rows;
    double room = machine_memory_free();
    Text t = { 0 };
    char size[32];
    text_add(&t, "%s: %lld parameters, %lld windows of %lld tokens at once, %d threads\n",
             model_text(p, m->name), (long long)m->parameters, (long long)c->batch,
             (long long)c->context, s->workers);
    row(&t, "weights", (double)m->weights_bytes);
    row(&t, "gradients", gradients);
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
