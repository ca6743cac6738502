/* SPDX-License-Identifier: MIT
** Matrix products of tokens with a weight and their two gradients, rows of a
** table picked by ids, and the loss.  Weights are [out, in].
*/
#include "error.h"
#include "fatal.h"
#include "op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* == Products: y = x w^T ================================================== */

/* linear contracts w's axis 1, linear_back its axis 0. */
static const char *shape_product(Node *n, const char *left, const char *form, int inner) {
    const char *error;
    if (n->nin < 2 || n->nin > 3)
        return graph_format(n->g, "takes 2 or 3 operands, found %d", n->nin);
    if ((error = operand_is(n, 0, left, form, LEAD_TOKENS, F32, 1))) return error;
    if ((error = operand_is(n, 1, "w", "[M,K]", LEAD_NONE, F32, 2))) return error;
    const Shape *x = &n->in[0]->shape, *w = &n->in[1]->shape;
    if (x->dim[0] != w->dim[inner])
        return graph_format(n->g, "inner dimensions differ: %lld and %lld", (long long)x->dim[0],
                            (long long)w->dim[inner]);
    n->shape =
        (Shape){ .lead = LEAD_TOKENS, .list = x->list, .rank = 1, .dim = { w->dim[1 - inner] } };
    if (n->nin == 3 && !shape_equal(&n->in[2]->shape, &n->shape))
        return graph_format(n->g, "what the product is added to must be %s, not %s",
                            shape_text(n->g, &n->shape), shape_text(n->g, &n->in[2]->shape));
    return NULL;
}

static void start_from(const EvalStep *s) {
    if (s->n->nin == 3)
        memcpy(s->out[0], s->in[2], (size_t)(s->tokens * s->n->shape.dim[0]) * sizeof(double));
}

/* Rounds the result of a product that pass_precision marked. */
static void round_result(const EvalStep *s) {
    int64_t count = s->tokens * s->n->shape.dim[0];
    for (int64_t i = 0; s->n->attr->bf16 && i < count; i++)
        s->out[0][i] = round_bf16(s->out[0][i]);
}

const char *shape_linear(Node *n) { return shape_product(n, "x", "[tokens,K]", 1); }

Node *op_linear(Node *x, Node *w) {
    return op_build(x->g, OP_linear, 2, (Node *[]){ x, w }, (Attr){ 0 });
}

void vjp_linear(Node *n, Node **dy, Node **dx) {
    dx[0] = op_linear_back(dy[0], n->in[1]);
    dx[1] = op_linear_weight(dy[0], n->in[0]);
    if (n->nin == 3) dx[2] = dy[0];
}

static double dot(const double *a, const double *b, int64_t count) {
    double sum[4] = { 0 };
    int64_t k = 0;
    for (; k + 4 <= count; k += 4)
        for (int lane = 0; lane < 4; lane++)
            sum[lane] += a[k + lane] * b[k + lane];
    for (; k < count; k++)
        sum[0] += a[k] * b[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The weights as products of the graph's precision take them; 'own' is to be freed. */
static const double *weights(const EvalStep *s, double **own) {
    int64_t count = shape_count(&s->n->in[1]->shape);
    *own = op_small(s->n->in[1]) ? small_weights_of(s, 1) : NULL;
    if (*own || !s->n->g->bf16) return *own ? *own : s->in[1];
    *own = checked_new((size_t)count, sizeof **own);
    for (int64_t i = 0; i < count; i++)
        (*own)[i] = round_bf16(s->in[1][i]);
    return *own;
}

void eval_linear(const EvalStep *s) {
    const Shape *shape = &s->n->in[1]->shape;
    int64_t M = shape->dim[0], K = shape->dim[1];
    double *own, *rows = op_small(s->n->in[1]) ? small_rows_of(s, 0) : NULL;
    const double *w = weights(s, &own), *x = rows ? rows : s->in[0];
    start_from(s);
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t m = 0; m < M; m++)
            s->out[0][t * M + m] += dot(x + t * K, w + m * K, K);
    round_result(s);
    free(own), free(rows);
}

const char *shape_linear_back(Node *n) { return shape_product(n, "dy", "[tokens,M]", 0); }

Node *op_linear_back(Node *dy, Node *w) {
    return op_build(dy->g, OP_linear_back, 2, (Node *[]){ dy, w }, (Attr){ 0 });
}

void vjp_linear_back(Node *n, Node **dy, Node **dx) {
    dx[0] = op_linear(dy[0], n->in[1]);
    dx[1] = op_linear_weight(n->in[0], dy[0]);
    if (n->nin == 3) dx[2] = dy[0];
}

/* y += a x */
static void axpy(double *y, double a, const double *x, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        y[k] += a * x[k];
}

void eval_linear_back(const EvalStep *s) {
    const Shape *shape = &s->n->in[1]->shape;
    int64_t M = shape->dim[0], K = shape->dim[1];
    double *own;
    const double *w = weights(s, &own);
    start_from(s);
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t m = 0; m < M; m++)
            axpy(s->out[0] + t * K, s->in[0][t * M + m], w + m * K, K);
    round_result(s);
    free(own);
}

const char *shape_linear_weight(Node *n) {
    const char *error = operand_is(n, 0, "dy", "[tokens,M]", LEAD_TOKENS, F32, 1);
    if (!error) error = operand_is(n, 1, "x", "[tokens,K]", LEAD_TOKENS, F32, 1);
    n->shape = (Shape){ .rank = 2, .dim = { n->in[0]->shape.dim[0], n->in[1]->shape.dim[0] } };
    return error;
}

Node *op_linear_weight(Node *dy, Node *x) {
    return op_build(dy->g, OP_linear_weight, 2, (Node *[]){ dy, x }, (Attr){ 0 });
}

void vjp_linear_weight(Node *n, Node **dy, Node **dx) {
    dx[0] = op_linear(n->in[1], dy[0]);
    dx[1] = op_linear_back(n->in[0], dy[0]);
}

void eval_linear_weight(const EvalStep *s) {
    int64_t M = s->n->shape.dim[0], K = s->n->shape.dim[1];
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t m = 0; m < M; m++)
            axpy(s->out[0] + m * K, s->in[0][t * M + m], s->in[1] + t * K, K);
}

/* == Rows of a table ====================================================== */

static int64_t id_at(const EvalStep *s, int operand, int64_t token, int64_t count) {
    double id = s->in[operand][token];
    if (!(id >= 0 && id < (double)count))
        bug(s->n, "id %s of token %lld is not below %lld", print_double((char[32]){ 0 }, id),
            (long long)token, (long long)count);
    return (int64_t)id;
}

const char *shape_embed(Node *n) {
    const char *error = operand_is(n, 0, "w", "[V,D]", LEAD_NONE, F32, 2);
    if (!error) error = operand_is(n, 1, "ids", "int32[tokens]", LEAD_TOKENS, I32, 0);
    n->shape = (Shape){ .lead = LEAD_TOKENS, .rank = 1, .dim = { n->in[0]->shape.dim[1] } };
    return error;
}

Node *op_embed(Node *w, Node *ids) {
    return op_build(w->g, OP_embed, 2, (Node *[]){ w, ids }, (Attr){ 0 });
}

void vjp_embed(Node *n, Node **dy, Node **dx) {
    dx[0] = op_build(n->g, OP_embed_weight, 2, (Node *[]){ dy[0], n->in[1] },
                     (Attr){ .count = n->in[0]->shape.dim[0] });
}

void eval_embed(const EvalStep *s) {
    int64_t V = s->n->in[0]->shape.dim[0], D = s->n->shape.dim[0];
    double *own = op_small(s->n->in[0]) ? small_weights_of(s, 0) : NULL;
    const double *w = own ? own : s->in[0];
    for (int64_t t = 0; t < s->tokens; t++)
        memcpy(s->out[0] + t * D, w + id_at(s, 1, t, V) * D, (size_t)D * sizeof(double));
    free(own);
}

const char *shape_embed_weight(Node *n) {
    const char *error = operand_is(n, 0, "dy", "[tokens,D]", LEAD_TOKENS, F32, 1);
    if (!error) error = operand_is(n, 1, "ids", "int32[tokens]", LEAD_TOKENS, I32, 0);
    n->shape = (Shape){ .rank = 2, .dim = { n->attr->count, n->in[0]->shape.dim[0] } };
    return error;
}

void vjp_embed_weight(Node *n, Node **dy, Node **dx) { dx[0] = op_embed(dy[0], n->in[1]); }

void eval_embed_weight(const EvalStep *s) {
    int64_t V = s->n->shape.dim[0], D = s->n->shape.dim[1];
    for (int64_t t = 0; t < s->tokens; t++)
        if (s->in[1][t] < (double)V)
            axpy(s->out[0] + id_at(s, 1, t, V) * D, 1, s->in[0] + t * D, D);
}

/* == Cross entropy ======================================================== */

static const Shape per_token = { .lead = LEAD_TOKENS };

const char *shape_cross_entropy(Node *n) {
    const char *error = operand_is(n, 0, "logits", "[tokens,V]", LEAD_TOKENS, F32, 1);
    if (!error) error = operand_is(n, 1, "ids", "int32[tokens]", LEAD_TOKENS, I32, 0);
    n->shape = n->side[1] = per_token;
    return error;
}

void vjp_cross_entropy(Node *n, Node **dy, Node **dx) {
    Node *logits = n->in[0], *lse = op_side(n, 1);
    if (dy[0])
        dx[0] = op_build(n->g, OP_cross_entropy_grad, 4, (Node *[]){ logits, lse, n->in[1], dy[0] },
                         (Attr){ 0 });
    if (dy[1]) { /* the slope of log-sum-exp is softmax */
        Shape column = { .rank = 1, .dim = { 1 } };
        Node *p = op_softmax(logits, 0), *d = op_mul(p, op_reshape(dy[1], &column));
        dx[0] = dx[0] ? op_add(dx[0], d) : d;
    }
}

static double log_sum_exp(const double *x, int64_t count) {
    double most = -INFINITY, total = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, x[i]);
    for (int64_t i = 0; i < count; i++)
        total += exp(x[i] - most);
    return most + log(total);
}

void eval_cross_entropy(const EvalStep *s) {
    int64_t V = s->n->in[0]->shape.dim[0];
    for (int64_t t = 0; t < s->tokens; t++) {
        const double *x = s->in[0] + t * V;
        s->out[1][t] = log_sum_exp(x, V);
        s->out[0][t] = s->out[1][t] - x[id_at(s, 1, t, V)];
    }
}

const char *shape_cross_entropy_grad(Node *n) {
    const char *error = operand_is(n, 0, "logits", "[tokens,V]", LEAD_TOKENS, F32, 1);
    if (!error) error = operand_is(n, 1, "lse", "[tokens]", LEAD_TOKENS, F32, 0);
    if (!error) error = operand_is(n, 2, "ids", "int32[tokens]", LEAD_TOKENS, I32, 0);
    if (!error) error = operand_is(n, 3, "dy", "[tokens]", LEAD_TOKENS, F32, 0);
    n->shape = n->in[0]->shape;
    return error;
}

void vjp_cross_entropy_grad(Node *n, Node **dy, Node **dx) {
    (void)dy, (void)dx;
    bug(n, "there is no gradient of a gradient of the loss");
}

void eval_cross_entropy_grad(const EvalStep *s) {
    int64_t V = s->n->shape.dim[0];
    for (int64_t t = 0; t < s->tokens; t++) {
        const double *x = s->in[0] + t * V;
        double *out = s->out[0] + t * V, lse = s->in[1][t], dy = s->in[3][t];
        for (int64_t i = 0; i < V; i++)
            out[i] = exp(x[i] - lse) * dy;
        out[id_at(s, 2, t, V)] -= dy;
    }
}
