/* SPDX-License-Identifier: MIT
** The scratch memory of an iteration. */
#include "rows_iteration.h"
#include "rows_analysis.h"

/* Iterations of a stretch, if the square root of all of them is not more. */
enum { STRETCH = 64 };

IterationSize iteration_size(const Node *n) {
    const Shape *s = &n->shape;
    IterationSize z = { .rows = s->dim[s->rank - 2], .columns = s->dim[s->rank - 1] };
    z.matrix = z.kept = z.all = z.rows * z.columns;
    z.half = z.matrix + (z.rows > z.columns ? z.rows : z.columns);
    z.iterations = z.stretch = n->attr->count;
    if (z.stretch > STRETCH)
        for (z.stretch = STRETCH; z.stretch * z.stretch < z.iterations;)
            z.stretch++;
    z.stretches = (z.iterations + z.stretch - 1) / z.stretch;
    if (n->op == OP_sinkhorn) return z;
    z.starts = z.kept + (2 * z.stretch + 1) * z.half;
    z.all = z.starts + z.stretches * z.matrix;
    return z;
}

int64_t rows_iteration_floats(const Rows *r, const Node *n) {
    return iteration_size(n).all * (n->shape.lead == LEAD_NONE ? 1 : r->lanes);
}
