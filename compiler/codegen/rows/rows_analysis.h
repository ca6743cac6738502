/* SPDX-License-Identifier: MIT
** Shared by the files of a row kernel's analysis: rows_analyse.c calls rows_numbers.c,
** rows_series.c, rows_stored.c and rows_groups.c, in this order.
*/
#ifndef STRATA_ROWS_ANALYSIS_H
#define STRATA_ROWS_ANALYSIS_H

#include "rows.h"

static inline Class class_of(const Node *n) { return op_info[n->op].class; }

/* rows.c */
bool rows_trivial(const Node *n);   /* a reshape that only adds or drops axes of length 1 */
bool rows_last_axis(const Node *n); /* a reduction over the last axis longer than 1 */
/* Graph.short_rows: rows of the model have too few elements for a vector, and long lists. */
bool rows_are_short(const Graph *g);

/* rows_weight.c */
bool rows_is_weight(const Node *n); /* an exponential that is a weight of a softmax */

/* rows_operands.c */
int rows_add_operand(Rows *r, Ref ref, const Node *n, bool add);
int rows_add_number(Rows *r, int64_t number); /* an operand that is the number itself */

/* rows_numbers.c */
void rows_find_numbers(Rows *r, RowValue *v); /* v->number */

/* rows_series.c */
/* An operand of such a shape is the same to who reads a slice of its first axis, however long it is
** and wherever the slice begins. */
bool rows_cut_anywhere(const Shape *s);
RowSeries *rows_new_series(Rows *r);
void rows_find_count(Rows *r);    /* whether it is for any length of its series, and which */
void rows_confirm_count(Rows *r); /* once there are statements: how they run is the same, too */
void rows_place_series(Rows *r);  /* gives their pieces operands, the last ones */

/* rows_stored.c: fills value[].uses, .stored and .reads_stack. */
void rows_find_stored(Rows *r);

/* rows_iteration.c: scratch of an iteration */
int64_t rows_iteration_floats(const Rows *r, const Node *n);

/* rows_groups.c: a statement for each value that is stored, in groups. */
void rows_find_statements(Rows *r);

#endif
