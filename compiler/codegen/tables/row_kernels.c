/* SPDX-License-Identifier: MIT
** Numbers the row kernels.  Kernels that can share code get the same number and are emitted once.
*/
#include "tables.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

#include "site.h"

static char *kernels_name_of(const Rows *r, int number) {
    const Node *n = r->step->n ? r->step->node[r->step->n - 1] : NULL;
    const char *site = n && n->site ? site_last(n->site) : "model";
    char name[128];
    snprintf(name, sizeof name, "rows%d_%.64s%s", number, site, n && n->backward ? "_grad" : "");
    return checked_text(name);
}

/* The same kernel may need more for more operands. */
static void need_scratch(Constants *c, const Rows *r) {
    int64_t floats = r->scratch + pointer_floats(r->p->guarded, r->noperand);
    c->scratch_bytes = max64(c->scratch_bytes, floats * (int64_t)sizeof(float));
}

static bool same_code(const void *item, const void *key) {
    return rows_same_code(&((const RowKernel *)item)->identity, key);
}

void free_row_kernels(RowKernels *k) {
    for (int i = 0; i < k->row.n; i++) {
        RowKernel *kernel = LIST(k->row, RowKernel *, i);
        free(kernel->identity.word);
        free(kernel->name);
        free(kernel);
    }
    free(k->row.data);
    table_free(&k->known);
}

int row_kernel_number(Tables *t, Rows *r, bool plain) {
    List *kernels = &t->kernels.row;
    need_scratch(&t->bytes.constants, r);
    RowsIdentity identity = rows_identity(r);
    RowKernel *k = table_find(&t->kernels.known, identity.hash, same_code, &identity);
    if (k) return free(identity.word), k->number;
    k = checked_new(1, sizeof *k);
    *k = (RowKernel){ identity, kernels->n, kernels_name_of(r, kernels->n), r->p, r->index, plain };
    table_add(&t->kernels.known, identity.hash, k);
    *(RowKernel **)list_add(kernels, sizeof(RowKernel *)) = k;
    return k->number;
}

/* They are analysed again: an analysis lies in arrays that the next one of its plan takes. */
void row_kernels_emit(const Tables *t, const Backend *to, BackendCode *code) {
    const Plan *plan = NULL;
    RowsShared shared;
    for (int i = 0; i < t->kernels.row.n; i++) {
        const RowKernel *k = LIST(t->kernels.row, RowKernel *, i);
        if (k->plan != plan) plan = k->plan, shared = rows_shared(plan);
        to->row_kernel(code, rows_analyse(plan, k->step, t->rates.lanes, shared), k);
    }
}
