/* SPDX-License-Identifier: MIT
** The operands of a row kernel, in the order in which they were asked for. */
#include "rows_analysis.h"

#include <string.h>

int rows_add_operand(Rows *r, Ref ref, const Node *n, bool add) {
    RowsArrays *a = r->shared.arrays;
    if (r->noperand == a->operands) {
        a->operands = a->operands ? 2 * a->operands : 64;
        a->operand = graph_alloc(r->p->g, (size_t)a->operands * sizeof *a->operand);
        if (r->noperand) memcpy(a->operand, r->operand, (size_t)r->noperand * sizeof *a->operand);
    }
    r->operand = a->operand;
    r->operand[r->noperand] = (Operand){ ref, n, add, -1 };
    return r->noperand++;
}

int rows_add_number(Rows *r, int64_t number) {
    return rows_add_operand(r, (Ref){ AREA_NONE, 0, number }, NULL, false);
}
