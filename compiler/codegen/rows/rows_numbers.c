/* SPDX-License-Identifier: MIT
** Numbers of the spec that are operands of a kernel instead of constants in its code.  Kernels
** that differ only in such numbers (the eps of a norm, a factor for each layer) have the same
** code, and another build can reuse it.
*/
#include "rows_analysis.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Halves and integers belong to a formula, and LLVM simplifies what is computed with them. */
static bool in_code(double value) { return !isfinite(value) || 2 * value == rint(2 * value); }

/* The factor of a mean goes with the shape of what it is of. */
static bool is_mean(const Node *n, double value) {
    for (int i = 0; i < n->nin; i++) {
        const Node *x = n->in[i];
        if (x->op == OP_sum && value == 1 / (double)x->in[0]->shape.dim[x->attr->axis]) return true;
    }
    return false;
}

enum { NUMBERS = 64 }; /* of a kernel; more stay in its code */

static int new_number(Rows *r, const Node *fill, Loc line) {
    if (r->nnumber == NUMBERS) return -1;
    if (!r->number) r->number = graph_alloc(r->p->g, NUMBERS * sizeof *r->number);
    const float value = (float)fill->attr->value;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    r->number[r->nnumber] = (RowNumber){ fill, line, rows_add_number(r, bits) };
    return r->number[r->nnumber++].operand;
}

static bool same_line(Loc a, Loc b) {
    return a.line == b.line && !strcmp(a.file ? a.file : "", b.file ? b.file : "");
}

/* Equal numbers of two lines are two numbers, or the code would change with one of them. */
static int number_of(Rows *r, const Node *fill, Loc line) {
    for (int i = 0; i < r->nnumber; i++) {
        const RowNumber *x = &r->number[i];
        if (x->fill == fill && same_line(x->line, line)) return x->operand;
    }
    return new_number(r, fill, line);
}

void rows_find_numbers(Rows *r, RowValue *v) {
    const Node *n = v->n;
    for (int i = 0; i < ROWS_READS; i++)
        v->in.number[i] = -1;
    for (int i = 0; v->here && class_of(n) == POINTWISE && i < n->nin; i++) {
        const Node *x = n->in[i];
        double value = x->op == OP_fill ? x->attr->value : 0;
        if (!in_code(value) && !is_mean(n, value))
            v->in.number[i] = number_of(r, x, loc_innermost(n->loc));
    }
}
