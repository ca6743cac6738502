/* SPDX-License-Identifier: MIT
** Products by experts: each token's numbers are multiplied by the matrices of the experts that
** were chosen for it, w [E,M,K].  A slot is one of a token's choices: slot t * k + i is choice i
** of token t.  'expert_lists' sorts slots by expert, then by token, and puts slots without a
** choice last.  The products work through those lists, so that their work grows with the number of
** slots.  A slot without a choice gives 0.
**
** x has one row for all of a token's slots, [tokens,K], or one for each, [tokens,k,K].
*/
#include "fatal.h"
#include "op.h"

#include <stdlib.h>

/* == The lists ============================================================ */

const char *shape_expert_lists(Node *n) {
    const char *error = check_chosen(n, 0);
    if (error) return error;
    n->shape = n->in[0]->shape;
    n->side[1] = (Shape){ .type = I32, .rank = 1, .dim = { n->in[0]->in[0]->shape.dim[0] + 1 } };
    return NULL;
}

void vjp_expert_lists(Node *n, Node **dy, Node **dx) { (void)n, (void)dy, (void)dx; }

/* Slots in order; and where the list of each expert begins, then where that of nothing does. */
void eval_expert_lists(const EvalStep *s) {
    int64_t slots = s->tokens * s->n->shape.dim[0], E = s->n->side[1].dim[0] - 1, at = 0;
    for (int64_t e = 0; e <= E; e++) {
        s->out[1][e] = (double)at;
        for (int64_t i = 0; i < slots; i++)
            if ((int64_t)s->in[0][i] == (e < E ? e : -1)) s->out[0][at++] = (double)i;
    }
}

/* == Products ============================================================= */

static const char *check_lists(Node *n) {
    const Node *lists = n->in[2], *first = n->in[3];
    if (lists->op == OP_expert_lists && first->op == OP_side && first->in[0] == lists) return NULL;
    return "the last operands must be the results of expert_lists";
}

static int64_t experts_of(const Node *n) { return n->in[3]->shape.dim[0] - 1; }
static int64_t slots_of(const Node *n) { return n->in[2]->shape.dim[0]; }

/* The rows of an operand: one of each token, or one of each slot. */
static const char *check_rows(Node *n, int operand, const char *name, const char *forms) {
    const Shape *x = &n->in[operand]->shape;
    bool fits = x->lead == LEAD_TOKENS && x->type == F32
        && (x->rank == 1 || (x->rank == 2 && x->dim[0] == slots_of(n)));
    return fits ? NULL
                : graph_format(n->g, "%s must be %s with k = %lld, not %s", name, forms,
                               (long long)slots_of(n), shape_text(n->g, x));
}

static int64_t width_of(const Node *n, int operand) {
    const Shape *x = &n->in[operand]->shape;
    return x->dim[x->rank - 1];
}

static const char *shape_product(Node *n, const char *name, const char *forms, int inner) {
    const char *error = check_lists(n);
    if (!error) error = operand_is(n, 1, "w", "[E,M,K]", LEAD_NONE, F32, 3);
    if (!error) error = check_rows(n, 0, name, forms);
    if (error) return error;
    const Shape *w = &n->in[1]->shape;
    if (w->dim[0] != experts_of(n) || n->attr->count != experts_of(n))
        return graph_format(n->g, "w must have a matrix for each of %lld experts, not be %s",
                            (long long)experts_of(n), shape_text(n->g, w));
    if (width_of(n, 0) != w->dim[1 + inner])
        return graph_format(n->g, "inner dimensions differ: %lld and %lld",
                            (long long)width_of(n, 0), (long long)w->dim[1 + inner]);
    n->shape = (Shape){ .lead = LEAD_TOKENS, .rank = 2, .dim = { slots_of(n), w->dim[2 - inner] } };
    return NULL;
}

static Node *expert_op(const Node *like, Op op, Node *a, Node *b) {
    return op_build(like->g, op, 4, (Node *[]){ a, b, like->in[2], like->in[3] },
                    (Attr){ .count = like->attr->count });
}

/* A cotangent by slots as one of x, which may have a row for all of a token's. */
static Node *as_rows_of(const Node *x, Node *dx) {
    return dx && x->shape.rank == 1 ? op_sum(dx, 0) : dx;
}

const char *shape_expert_linear(Node *n) {
    return shape_product(n, "x", "[tokens,K] or [tokens,k,K]", 1);
}

void vjp_expert_linear(Node *n, Node **dy, Node **dx) {
    dx[0] = as_rows_of(n->in[0], expert_op(n, OP_expert_linear_back, dy[0], n->in[1]));
    dx[1] = expert_op(n, OP_expert_linear_weight, dy[0], n->in[0]);
}

const char *shape_expert_linear_back(Node *n) {
    return shape_product(n, "dy", "[tokens,M] or [tokens,k,M]", 0);
}

void vjp_expert_linear_back(Node *n, Node **dy, Node **dx) {
    dx[0] = as_rows_of(n->in[0], expert_op(n, OP_expert_linear, dy[0], n->in[1]));
    dx[1] = expert_op(n, OP_expert_linear_weight, n->in[0], dy[0]);
}

const char *shape_expert_linear_weight(Node *n) {
    const char *error = check_lists(n);
    if (!error) error = check_rows(n, 0, "dy", "[tokens,M] or [tokens,k,M]");
    if (!error) error = check_rows(n, 1, "x", "[tokens,K] or [tokens,k,K]");
    if (error) return error;
    if (n->attr->count != experts_of(n)) return "the count must be that of the experts";
    n->shape = (Shape){ .rank = 3, .dim = { experts_of(n), width_of(n, 0), width_of(n, 1) } };
    return NULL;
}

void vjp_expert_linear_weight(Node *n, Node **dy, Node **dx) {
    dx[0] = as_rows_of(n->in[0], expert_op(n, OP_expert_linear, n->in[1], dy[0]));
    dx[1] = as_rows_of(n->in[1], expert_op(n, OP_expert_linear_back, n->in[0], dy[0]));
}

/* == The reference ======================================================== */

/* Weights as products of the graph's precision take them; to be freed. */
static double *weights(const EvalStep *s) {
    int64_t count = shape_count(&s->n->in[1]->shape);
    if (op_small(s->n->in[1])) return small_weights_of(s, 1);
    double *w = checked_new((size_t)count, sizeof *w);
    for (int64_t i = 0; i < count; i++)
        w[i] = s->n->g->bf16 ? round_bf16(s->in[1][i]) : s->in[1][i];
    return w;
}

/* An operand's row for a slot, of its values 'x'. */
static const double *row_in(const EvalStep *s, const double *x, int operand, int64_t slot) {
    bool each = s->n->in[operand]->shape.rank == 2;
    return x + (each ? slot : slot / slots_of(s->n)) * width_of(s->n, operand);
}

static const double *ops_expert_row_of(const EvalStep *s, int operand, int64_t slot) {
    return row_in(s, s->in[operand], operand, slot);
}

/* y = w x of each slot, or w^T x if 'back'. */
static void product(const EvalStep *s, bool back) {
    const Shape *shape = &s->n->in[1]->shape;
    int64_t M = shape->dim[1], K = shape->dim[2], to = back ? K : M;
    double *all = weights(s), *own = op_small(s->n->in[1]) ? small_rows_of(s, 0) : NULL;
    for (int64_t e = 0; e < shape->dim[0]; e++)
        for (int64_t i = (int64_t)s->in[3][e]; i < (int64_t)s->in[3][e + 1]; i++) {
            int64_t slot = (int64_t)s->in[2][i];
            const double *x = row_in(s, own ? own : s->in[0], 0, slot), *w = all + e * M * K;
            double *y = s->out[0] + slot * to;
            for (int64_t m = 0; m < M; m++)
                for (int64_t k = 0; k < K; k++)
                    if (back) y[k] += w[m * K + k] * x[m];
                    else y[m] += w[m * K + k] * x[k];
        }
    free(all), free(own);
}

void eval_expert_linear(const EvalStep *s) { product(s, false); }
void eval_expert_linear_back(const EvalStep *s) { product(s, true); }

void eval_expert_linear_weight(const EvalStep *s) {
    int64_t M = s->n->shape.dim[1], K = s->n->shape.dim[2];
    for (int64_t e = 0; e < s->n->shape.dim[0]; e++)
        for (int64_t i = (int64_t)s->in[3][e]; i < (int64_t)s->in[3][e + 1]; i++) {
            int64_t slot = (int64_t)s->in[2][i];
            const double *dy = ops_expert_row_of(s, 0, slot), *x = ops_expert_row_of(s, 1, slot);
            double *dw = s->out[0] + e * M * K;
            for (int64_t m = 0; m < M; m++)
                for (int64_t k = 0; k < K; k++)
                    dw[m * K + k] += dy[m] * x[k];
        }
}
