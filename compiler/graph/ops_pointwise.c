/* SPDX-License-Identifier: MIT
** What the pointwise rows of ops.def expand to: builder, gradient and
** reference.  The reference walks the broadcast result with one stride for
** each operand (0 where it is repeated), after merging axes that every
** operand walks alike.
*/
#include "op.h"

#include <math.h>

#define TWO_OVER_SQRT_PI 1.12837916709551257390

const char *shape_pointwise(Node *n) {
    const char *error = operand_is_number(n, 0);
    n->shape = n->in[0]->shape;
    for (int i = 1; !error && i < n->nin; i++) {
        Shape so_far = n->shape;
        error = operand_is_number(n, i);
        if (!error && shape_broadcast(&so_far, &n->in[i]->shape, &n->shape))
            error = graph_format(n->g, "shapes %s and %s do not fit together",
                                 shape_text(n->g, &so_far), shape_text(n->g, &n->in[i]->shape));
    }
    return error;
}

/* Eight significant bits, fewer below the smallest normal number. */
double round_bf16(double x) {
    static const double largest = 0x1.fep127;
    int exponent;
    if (!isfinite(x) || x == 0) return x;
    frexp(x, &exponent);
    double unit = ldexp(1, (exponent < -125 ? -125 : exponent) - 8), y = rint(x / unit) * unit;
    return fabs(y) > largest ? copysign(INFINITY, x) : y;
}

/* == Walking operands that broadcast ====================================== */

enum { AXES = MAXRANK + 1, OPERANDS = 3 };

typedef struct BroadcastWalk {
    int rank;
    int64_t dim[AXES], stride[OPERANDS][AXES];
} BroadcastWalk;

/* len elements; operand i is in[i][k * stride[i]]. */
typedef void RunFn(int64_t len, const double *const *in, const int64_t *stride, double *out);

static void walk_operand(int64_t *stride, const Shape *s, const Shape *result) {
    int64_t size = 1;
    int shift = result->rank - s->rank;
    for (int i = result->rank; i-- > 0;) {
        int64_t dim = i >= shift ? s->dim[i - shift] : 1;
        stride[i + 1] = dim == 1 ? 0 : size;
        size *= dim;
    }
    stride[0] = s->lead == LEAD_TOKENS ? size : 0;
}

static bool mergeable(const BroadcastWalk *w, int operands, int axis) {
    for (int i = 0; i < operands; i++)
        if (w->stride[i][axis] != w->stride[i][axis + 1] * w->dim[axis + 1]) return false;
    return true;
}

static void walk_drop(BroadcastWalk *w, int operands, int axis) {
    w->rank--;
    for (int j = axis; j < w->rank; j++) {
        w->dim[j] = w->dim[j + 1];
        for (int i = 0; i < operands; i++)
            w->stride[i][j] = w->stride[i][j + 1];
    }
}

static BroadcastWalk walk_new(const EvalStep *s) {
    const Node *n = s->n;
    BroadcastWalk w = { .rank = n->shape.rank + 1 };
    w.dim[0] = rows_of(s, &n->shape);
    for (int i = 0; i < n->shape.rank; i++)
        w.dim[i + 1] = n->shape.dim[i];
    for (int i = 0; i < n->nin; i++)
        walk_operand(w.stride[i], &n->in[i]->shape, &n->shape);
    for (int axis = w.rank; axis-- > 0;)
        if (w.dim[axis] == 1 && w.rank > 1) walk_drop(&w, n->nin, axis);
    for (int axis = w.rank - 1; axis-- > 0;)
        if (mergeable(&w, n->nin, axis)) {
            w.dim[axis + 1] *= w.dim[axis];
            walk_drop(&w, n->nin, axis);
        }
    return w;
}

static void pointwise_walk(const EvalStep *s, RunFn *run) {
    if (!rows_of(s, &s->n->shape)) return;
    BroadcastWalk w = walk_new(s);
    int last = w.rank - 1, operands = s->n->nin;
    const double *in[OPERANDS];
    int64_t inner[OPERANDS], at[AXES] = { 0 };
    double *out = s->out[0];
    for (int i = 0; i < operands; i++)
        in[i] = s->in[i], inner[i] = w.stride[i][last];
    for (;;) {
        int axis = last - 1;
        run(w.dim[last], in, inner, out);
        out += w.dim[last];
        for (; axis >= 0 && ++at[axis] == w.dim[axis]; axis--) {
            for (int i = 0; i < operands; i++)
                in[i] -= (w.dim[axis] - 1) * w.stride[i][axis];
            at[axis] = 0;
        }
        if (axis < 0) return;
        for (int i = 0; i < operands; i++)
            in[i] += w.stride[i][axis];
    }
}

/* == Rows ================================================================= */

#define OP1(name, f64, dx_, llvm, cost, again, help)                                    \
    Node *op_##name(Node *x) { return op_build1(OP_##name, x, (Attr){ 0 }); }           \
    void vjp_##name(Node *y, Node **dys, Node **dx) {                                   \
        Node *x = y->in[0], *dy = dys[0];                                               \
        (void)x, (void)dy;                                                              \
        dx[0] = dx_;                                                                    \
    }                                                                                   \
    static void run_##name(int64_t len, const double *const *in, const int64_t *stride, \
                           double *out) {                                               \
        for (int64_t k = 0; k < len; k++) {                                             \
            double x = in[0][k * stride[0]];                                            \
            out[k] = f64;                                                               \
        }                                                                               \
    }                                                                                   \
    void eval_##name(const EvalStep *s) { pointwise_walk(s, run_##name); }

#define OP2(name, f64, da_, db_, llvm, cost, again, help)                               \
    Node *op_##name(Node *a, Node *b) {                                                 \
        return op_build(a->g, OP_##name, 2, (Node *[]){ a, b }, (Attr){ 0 });           \
    }                                                                                   \
    void vjp_##name(Node *y, Node **dys, Node **dx) {                                   \
        Node *a = y->in[0], *b = y->in[1], *dy = dys[0];                                \
        (void)a, (void)b, (void)dy;                                                     \
        dx[0] = da_;                                                                    \
        dx[1] = db_;                                                                    \
    }                                                                                   \
    static void run_##name(int64_t len, const double *const *in, const int64_t *stride, \
                           double *out) {                                               \
        for (int64_t k = 0; k < len; k++) {                                             \
            double a = in[0][k * stride[0]], b = in[1][k * stride[1]];                  \
            out[k] = f64;                                                               \
        }                                                                               \
    }                                                                                   \
    void eval_##name(const EvalStep *s) { pointwise_walk(s, run_##name); }

#define OP3(name, f64, dc_, da_, db_, llvm, cost, again, help)                                   \
    Node *op_##name(Node *c, Node *a, Node *b) {                                                 \
        return op_build(c->g, OP_##name, 3, (Node *[]){ c, a, b }, (Attr){ 0 });                 \
    }                                                                                            \
    void vjp_##name(Node *y, Node **dys, Node **dx) {                                            \
        Node *c = y->in[0], *a = y->in[1], *b = y->in[2], *dy = dys[0];                          \
        (void)c, (void)a, (void)b, (void)dy;                                                     \
        dx[0] = dc_;                                                                             \
        dx[1] = da_;                                                                             \
        dx[2] = db_;                                                                             \
    }                                                                                            \
    static void run_##name(int64_t len, const double *const *in, const int64_t *stride,          \
                           double *out) {                                                        \
        for (int64_t k = 0; k < len; k++) {                                                      \
            double c = in[0][k * stride[0]], a = in[1][k * stride[1]], b = in[2][k * stride[2]]; \
            out[k] = f64;                                                                        \
        }                                                                                        \
    }                                                                                            \
    void eval_##name(const EvalStep *s) { pointwise_walk(s, run_##name); }

#define OP(name, ...)
#include "ops.def"

/* == What the gradient columns are written with =========================== */

Node *op_scale(Node *x, double k) { return op_mul(x, op_fill(x->g, k)); }

Node *op_rsub(double k, Node *x) { return op_sub(op_fill(x->g, k), x); }

Node *op_gauss(Node *x) { return op_scale(op_exp(op_neg(op_mul(x, x))), TWO_OVER_SQRT_PI); }

/* In C the order of arguments is not fixed, that of nodes must be. */
Node *op_sign(Node *x) {
    Node *above = op_step(x);
    return op_sub(above, op_step(op_neg(x)));
}

Node *op_broadcast(Node *x, const Shape *s) {
    if (shape_equal(&x->shape, s)) return x;
    Node *y = op_mul(x, op_full(x->g, s, 1));
    if (!shape_equal(&y->shape, s)) bug(x, "cannot be repeated to %s", shape_text(x->g, s));
    return y;
}
