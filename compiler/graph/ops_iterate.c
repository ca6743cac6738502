/* SPDX-License-Identifier: MIT
** Operations that process a small matrix repeatedly.  However many times they do, they are one
** node of the graph and one loop of a row kernel (codegen/rows/rows_iterate.c).
**
** sinkhorn: divides first the rows, then the columns of the matrices along the last two axes by
** their sums and attr.value, attr.count times.  With y = x / s along a line (a row or a column)
** whose sum and attr.value are s: dx = dy / s - sum(dy y / s)
*/
#include "error.h"
#include "fatal.h"
#include "op.h"

#include <stdlib.h>
#include <string.h>

enum { MAXITERATIONS = 100000, MAXMATRIX = 1 << 24 };

static const char *check_matrices(Node *n) {
    const Shape *x = &n->in[0]->shape;
    const char *error = operand_is_number(n, 0);
    if (error) return error;
    if (x->rank < 2)
        return graph_format(n->g, "%s has no two axes: x must be a matrix", shape_text(n->g, x));
    if (n->attr->count < 1 || n->attr->count > MAXITERATIONS)
        return graph_format(n->g, "there can be from 1 to %d iterations, not %lld", MAXITERATIONS,
                            (long long)n->attr->count);
    if (!(n->attr->value >= 0 && n->attr->value <= 1))
        return graph_format(n->g, "eps can be from 0 to 1, not %s",
                            print_double((char[32]){ 0 }, n->attr->value));
    if (x->dim[x->rank - 2] > MAXMATRIX / x->dim[x->rank - 1])
        return graph_format(n->g, "a matrix can have %d elements, %s has more", MAXMATRIX,
                            shape_text(n->g, x));
    n->shape = *x;
    return NULL;
}

const char *shape_sinkhorn(Node *n) { return check_matrices(n); }

const char *shape_sinkhorn_grad(Node *n) {
    const char *error = check_matrices(n);
    if (error || shape_equal(&n->in[1]->shape, &n->shape)) return error;
    return graph_format(n->g, "x and dy have different shapes, %s and %s",
                        shape_text(n->g, &n->shape), shape_text(n->g, &n->in[1]->shape));
}

void vjp_sinkhorn(Node *n, Node **dy, Node **dx) {
    dx[0] = op_build(n->g, OP_sinkhorn_grad, 2, (Node *[]){ n->in[0], dy[0] }, *n->attr);
}

void vjp_sinkhorn_grad(Node *n, Node **dy, Node **dx) { (void)n, (void)dy, (void)dx; }

/* == Reference ============================================================ */

/* The lines of a matrix: its rows, or its columns. */
typedef struct MatrixLines {
    int64_t count, apart; /* of lines */
    int64_t length, step; /* of the elements of one */
} MatrixLines;

static MatrixLines lines_of(const Shape *s, bool columns) {
    int64_t n = s->dim[s->rank - 2], m = s->dim[s->rank - 1];
    return columns ? (MatrixLines){ m, 1, n, m } : (MatrixLines){ n, m, m, 1 };
}

static void ops_iterate_divide(MatrixLines l, double eps, double *y, double *sum) {
    for (int64_t i = 0; i < l.count; i++) {
        sum[i] = eps;
        for (int64_t k = 0; k < l.length; k++)
            sum[i] += y[i * l.apart + k * l.step];
        for (int64_t k = 0; k < l.length; k++)
            y[i * l.apart + k * l.step] /= sum[i];
    }
}

static void divide_back(MatrixLines l, const double *y, const double *sum, double *d) {
    for (int64_t i = 0; i < l.count; i++) {
        double all = 0;
        for (int64_t k = 0; k < l.length; k++)
            all += d[i * l.apart + k * l.step] * y[i * l.apart + k * l.step] / sum[i];
        for (int64_t k = 0; k < l.length; k++)
            d[i * l.apart + k * l.step] = d[i * l.apart + k * l.step] / sum[i] - all;
    }
}

static int64_t matrices(const EvalStep *s, int64_t *size) {
    const Shape *x = &s->n->shape;
    *size = x->dim[x->rank - 2] * x->dim[x->rank - 1];
    return rows_of(s, x) * (shape_count(x) / *size);
}

void eval_sinkhorn(const EvalStep *s) {
    const Shape *x = &s->n->shape;
    int64_t size, count = matrices(s, &size);
    double *sum = checked_new((size_t)size, sizeof *sum);
    memcpy(s->out[0], s->in[0], (size_t)(count * size) * sizeof(double));
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < 2 * s->n->attr->count; k++)
            ops_iterate_divide(lines_of(x, k % 2), s->n->attr->value, s->out[0] + i * size, sum);
    free(sum);
}

/* Every half of an iteration leaves its matrix and its sums for the way back. */
void eval_sinkhorn_grad(const EvalStep *s) {
    const Shape *x = &s->n->shape;
    int64_t size, count = matrices(s, &size), halves = 2 * s->n->attr->count;
    double *left = checked_new((size_t)(2 * halves * size), sizeof *left);
    memcpy(s->out[0], s->in[1], (size_t)(count * size) * sizeof(double));
    for (int64_t i = 0; i < count; i++) {
        const double *from = s->in[0] + i * size;
        for (int64_t k = 0; k < halves; k++) {
            double *y = left + 2 * k * size;
            memcpy(y, from, (size_t)size * sizeof *y);
            ops_iterate_divide(lines_of(x, k % 2), s->n->attr->value, y, y + size);
            from = y;
        }
        for (int64_t k = halves; k-- > 0;) {
            const double *y = left + 2 * k * size;
            divide_back(lines_of(x, k % 2), y, y + size, s->out[0] + i * size);
        }
    }
    free(left);
}
