/* SPDX-License-Identifier: MIT
** The operands of a row kernel, in the order in which they were asked for. */
#include "rows_analysis.h"

#include <string.h>

int rows_add_operand(Rows *r, Ref ref, const Node *n, bool add) {
    RowsArrays *a = r->shared.arrays;
    a->operand = graph_grown(r->p->g, a->operand, r->noperand, &a->operands, sizeof *a->operand);
    r->operand = a->operand;
    r->operand[r->noperand] = (Operand){ ref, n, add, -1 };
    return r->noperand++;
}

int rows_add_number(Rows *r, int64_t number) {
    return rows_add_operand(r, (Ref){ AREA_NONE, 0, number }, NULL, false);
}
