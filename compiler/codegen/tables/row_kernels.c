/* SPDX-License-Identifier: MIT
** Row kernels get numbers: those that can share code the same one, which is emitted once. */
#include "tables.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "kernel_objects.h"
#include "site.h"

static void emit_row(KernelSink *to, const Rows *r, const RowKernel *kernel, bool plain) {
    if (to->objects) kernel_objects_add(to->objects, r, kernel, plain);
    if (!to->emit) return;
    to->emit->plain = plain;
    rows_emit(to->emit, r, kernel->name);
}

static char *name_of(const Rows *r, int number) {
    const Node *n = r->step->n ? r->step->node[r->step->n - 1] : NULL;
    const char *site = n && n->site ? site_last(n->site) : "model";
    char name[128];
    snprintf(name, sizeof name, "rows%d_%.64s%s", number, site, n && n->backward ? "_grad" : "");
    return checked_text(name);
}

/* The same kernel may need more for more operands. */
static void need_scratch(Constants *c, const Rows *r) {
    int64_t floats = r->scratch + pointer_floats(r->p->guarded, r->noperand);
    c->scratch_bytes = larger(c->scratch_bytes, floats * (int64_t)sizeof(float));
}

static bool same_code(const void *item, const void *key) {
    return rows_same_code(&((const RowKernel *)item)->identity, key);
}

void free_row_kernel(RowKernel *k) {
    free(k->identity.word);
    free(k->name);
    free(k);
}

int row_kernel_number(Tables *t, Rows *r, bool plain) {
    List *kernels = &t->sink.row;
    need_scratch(&t->bytes.constants, r);
    RowsIdentity identity = rows_identity(r);
    RowKernel *k = table_find(&t->sink.known, identity.hash, same_code, &identity);
    if (k) return free(identity.word), k->number;
    k = checked_new(1, sizeof *k);
    *k = (RowKernel){ identity, kernels->n, name_of(r, kernels->n) };
    table_add(&t->sink.known, identity.hash, k);
    *(RowKernel **)list_add(kernels, sizeof(RowKernel *)) = k;
    emit_row(&t->sink, r, k, plain);
    return k->number;
}
