/* SPDX-License-Identifier: MIT
** See op_example.h. */
#include "op_example_parts.h"

#include "history_example.h"
#include "test.h"

#include <string.h>

/* == Operands ============================================================= */

Node *example_operand(Graph *g, Shape s) {
    char name[32];
    const char *error;
    Shape table = { .rank = 2, .dim = { VOCAB, shape_count(&s) } };
    snprintf(name, sizeof name, "p%d", g->nparam);
    Node *p = graph_param(g, name, s.lead == LEAD_TOKENS ? table : s, (Init){ 0 }, &error);
    assert_non_null(p);
    return s.lead == LEAD_TOKENS ? op_reshape(op_embed(p, op_source(g, OP_tokens)), &s) : p;
}

Node *example_build(Graph *g, Op op, int nin, Node **in, Attr attr) {
    const char *error;
    Node *n = node_new(g, op, nin, in, attr, &error);
    if (!n) fail_msg("%s: %s", op_info[op].name, error);
    return n;
}

Node *example_build_of(Graph *g, Op op, int nin, const Shape *s, Attr attr) {
    Node *in[4];
    for (int i = 0; i < nin; i++)
        in[i] = example_operand(g, s[i]);
    return example_build(g, op, nin, in, attr);
}

/* == Examples of each op ================================================== */

static const Shape broadcasts[][3] = {
    { U(0), U(0), U(0) },
    { U(1, 3), U(1, 3), U(1, 3) },
    { T(0), T(0), T(0) },
    { T(1, 4), U(1, 4), T(1, 4) },
    { U(1, 4), T(1, 4), U(0) },
    { T(2, 2, 3), U(1, 3), T(1, 3) },
    { U(0), T(2, 2, 3), T(2, 1, 3) },
    { T(2, 2, 1), T(2, 1, 3), U(2, 2, 3) },
    { T(1, 1), U(3, 2, 1, 2), T(0) },
    { T(4, 2, 1, 3, 1), T(2, 3, 2), U(3, 2, 1, 2) },
    { U(2, 1, 1), T(2, 1, 1), T(1, 1) },
};

static Node *pointwise(Graph *g, Op op, int variant) {
    if (variant >= COUNT(broadcasts)) return NULL;
    return example_build_of(g, op, op_info[op].arity, broadcasts[variant], (Attr){ 0 });
}

typedef struct AxisCase {
    Shape x;
    int axis;
} AxisCase;

static const AxisCase axes[] = {
    { T(1, 5), 0 },       { T(1, 1), 0 },    { T(3, 2, 3, 2), 0 }, { T(3, 2, 3, 2), 1 },
    { T(3, 2, 3, 2), 2 }, { U(2, 3, 4), 0 }, { U(2, 3, 4), 1 },    { T(2, 3, 1), 1 },
};

static Node *along_axis(Graph *g, Op op, int variant) {
    if (variant >= COUNT(axes)) return NULL;
    return example_build_of(g, op, 1, &axes[variant].x, (Attr){ .axis = axes[variant].axis });
}

static const struct {
    Shape x;
    int64_t iterations;
    double eps;
} matrices[] = { { U(2, 3, 3), 2, 0 },       { T(2, 2, 3), 1, 0 },    { T(2, 4, 4), 5, 0 },
                 { T(4, 2, 1, 3, 2), 3, 0 }, { T(2, 1, 4), 2, 0 },    { U(3, 2, 2, 3), 20, 0 },
                 { T(2, 3, 2), 3, 0.1 },     { U(2, 4, 4), 70, 0.01 } };

/* Of matrices above 0. */
static Node *sinkhorn(Graph *g, int variant) {
    if (variant >= COUNT(matrices)) return NULL;
    Node *x = op_exp(example_operand(g, matrices[variant].x));
    Attr attr = { .count = matrices[variant].iterations, .value = matrices[variant].eps };
    return example_build(g, OP_sinkhorn, 1, &x, attr);
}

/* A gradient has none itself; as a constant it is a value like others. */
static Node *sinkhorn_grad(Graph *g, int variant) {
    Node *y = sinkhorn(g, variant);
    if (!y) return NULL;
    Node *in[] = { y->in[0], op_tanh(y->in[0]) };
    return op_stop_gradient(example_build(g, OP_sinkhorn_grad, 2, in, *y->attr));
}

static Node *reshape(Graph *g, int variant) {
    static const Shape to[][2] = {
        { T(1, 6), U(2, 2, 3) }, { T(2, 2, 3), U(2, 3, 2) },    { U(1, 1), U(0) },
        { T(0), U(2, 1, 1) },    { U(2, 4, 2), U(3, 2, 1, 4) },
    };
    if (variant >= COUNT(to)) return NULL;
    return example_build_of(g, OP_reshape, 1, &to[variant][0], (Attr){ .shape = to[variant][1] });
}

static Node *transpose(Graph *g, int variant) {
    static const struct {
        Shape x;
        int perm[MAXRANK];
    } c[] = {
        { T(2, 2, 3), { 1, 0 } },
        { T(3, 2, 3, 4), { 2, 0, 1 } },
        { U(3, 2, 3, 4), { 1, 2, 0 } },
        { U(4, 2, 1, 3, 2), { 3, 1, 0, 2 } },
        { T(1, 3), { 0 } },
    };
    if (variant >= COUNT(c)) return NULL;
    Attr attr = { 0 };
    memcpy(attr.perm, c[variant].perm, sizeof attr.perm);
    return example_build_of(g, OP_transpose, 1, &c[variant].x, attr);
}

static Node *slice(Graph *g, int variant) {
    static const struct {
        Shape x;
        int axis, first, count;
    } c[] = {
        { T(1, 5), 0, 0, 2 },    { T(1, 5), 0, 3, 2 },    { T(2, 3, 4), 0, 1, 1 },
        { T(2, 3, 4), 1, 1, 2 }, { U(2, 3, 4), 1, 0, 4 }, { U(1, 1), 0, 0, 1 },
    };
    if (variant >= COUNT(c)) return NULL;
    return example_build_of(
        g, OP_slice, 1, &c[variant].x,
        (Attr){ .axis = c[variant].axis, .first = c[variant].first, .count = c[variant].count });
}

static Node *concat(Graph *g, int variant) {
    static const struct {
        int nin;
        Shape x[3];
        int axis;
    } c[] = {
        { 1, { T(1, 3) }, 0 },
        { 2, { T(1, 3), T(1, 1) }, 0 },
        { 3, { U(2, 2, 3), T(2, 2, 1), U(2, 2, 2) }, 1 },
        { 2, { U(2, 2, 3), U(2, 1, 3) }, 0 },
        { 2, { T(2, 2, 3), U(2, 4, 3) }, 0 },
    };
    if (variant >= COUNT(c)) return NULL;
    Attr attr = { .axis = c[variant].axis };
    return example_build_of(g, OP_concat, c[variant].nin, c[variant].x, attr);
}

static Node *stack(Graph *g, int variant) {
    static const struct {
        int nin;
        Shape x[3];
    } c[] = {
        { 1, { T(1, 3) } },    { 3, { T(1, 3), U(1, 3), T(1, 3) } },    { 2, { U(0), U(0) } },
        { 2, { T(0), U(0) } }, { 2, { U(3, 2, 1, 2), T(3, 2, 1, 2) } },
    };
    if (variant >= COUNT(c)) return NULL;
    return example_build_of(g, OP_stack, c[variant].nin, c[variant].x, (Attr){ 0 });
}

static Node *after(Graph *g, int variant) {
    static const struct {
        int nin;
        Shape x[3];
    } c[] = {
        { 1, { T(1, 3) } },
        { 2, { T(1, 3), T(2, 2, 2) } },
        { 3, { T(0), U(1, 3), T(0) } },
        { 2, { U(1, 3), U(0) } },
    };
    if (variant >= COUNT(c)) return NULL;
    return example_build_of(g, OP_after, c[variant].nin, c[variant].x, (Attr){ 0 });
}

static Node *token_sum(Graph *g, int variant) {
    static const Shape c[] = { T(0), T(1, 3), T(2, 1, 2) };
    if (variant >= COUNT(c)) return NULL;
    return example_build_of(g, OP_token_sum, 1, &c[variant], (Attr){ 0 });
}

/* linear: w [M,K], x [K]; linear_back: x [M]; both with and without a third. */
static Node *product(Graph *g, Op op, int variant) {
    static const int64_t c[][2] = { { 3, 4 }, { 1, 1 }, { 6, 1 }, { 1, 7 }, { 5, 9 } };
    if (variant >= 2 * COUNT(c)) return NULL;
    int64_t M = c[variant / 2][0], K = c[variant / 2][1];
    int64_t from = op == OP_linear ? K : M, to = op == OP_linear ? M : K;
    Shape s[] = { T(1, from), U(2, M, K), T(1, to) };
    return example_build_of(g, op, 2 + variant % 2, s, (Attr){ 0 });
}

static Node *linear_weight(Graph *g, int variant) {
    static const Shape c[][2] = { { T(1, 3), T(1, 4) }, { T(1, 1), T(1, 5) } };
    if (variant >= COUNT(c)) return NULL;
    return example_build_of(g, OP_linear_weight, 2, c[variant], (Attr){ 0 });
}

static Node *embed(Graph *g, Op op, int variant) {
    if (variant >= 4) return NULL;
    int64_t D = variant < 2 ? 3 : 1;
    Shape x = op == OP_embed ? U(2, VOCAB, D) : T(1, D);
    Node *in[] = { example_operand(g, x), op_source(g, variant % 2 ? OP_position : OP_tokens) };
    return example_build(g, op, 2, in, (Attr){ .count = VOCAB });
}

/* The tokens with this property of a mask that ids decide; by variant none or all of them. */
Node *example_list(Graph *g, int variant) {
    static const double bound[] = { 0, -9, 9 };
    Node *x = op_reshape(op_embed(example_operand(g, U(2, VOCAB, 1)), op_source(g, OP_tokens)),
                         &U(0));
    Node *mask = op_greater(x, op_fill(g, bound[variant % 3]));
    return example_build(g, OP_rows, 1, &mask, (Attr){ .count = graph_lists(g) + 1 });
}

static const Shape moved[] = { T(1, 3), T(0), T(2, 2, 3) };

static Node *gather(Graph *g, int variant) {
    if (variant >= 3 * COUNT(moved)) return NULL;
    return op_gather(example_operand(g, moved[variant / 3]), example_list(g, variant));
}

static Node *scatter(Graph *g, int variant) {
    if (variant >= 3 * COUNT(moved)) return NULL;
    Node *rows = example_list(g, variant);
    return op_scatter(op_gather(example_operand(g, moved[variant / 3]), rows), rows);
}

/* Lists and choices have no gradient; what they choose has. */
static Node *rows(Graph *g, int variant) {
    if (variant >= 3) return NULL;
    Node *rows = example_list(g, variant);
    return op_mul(op_gather(example_operand(g, T(1, 2)), rows),
                  op_gather(example_operand(g, T(1, 2)), rows));
}

static Node *top(Graph *g, int variant) {
    static const double share[] = { 0.01, 0.5, 1 };
    if (variant >= COUNT(share)) return NULL;
    Node *x = example_operand(g, T(0));
    return op_mul(x, example_build(g, OP_top, 1, &x, (Attr){ .value = share[variant] }));
}

static Node *cross_entropy(Graph *g, int result, int variant) {
    if (variant >= 2) return NULL;
    Node *in[] = { example_operand(g, T(1, VOCAB + variant)), op_source(g, OP_targets) };
    return op_side(example_build(g, OP_cross_entropy, 2, in, (Attr){ 0 }), result);
}

static Node *cross_entropy_grad(Graph *g, int variant) {
    Node *nll = cross_entropy(g, 0, variant);
    if (!nll) return NULL;
    Node *in[] = { nll->in[0], op_side(nll, 1), nll->in[1], op_tanh(nll) };
    return op_stop_gradient(example_build(g, OP_cross_entropy_grad, 4, in, (Attr){ 0 }));
}

static Node *linear_each(Graph *g, int variant) {
    static const struct {
        Shape x, w;
        int64_t first, count;
        bool back;
    } c[] = {
        { T(2, 1, 3), U(3, 1, 2, 3), 0, 2, false }, { T(2, 3, 2), U(3, 3, 4, 2), 1, 2, false },
        { T(2, 2, 4), U(3, 2, 5, 4), 3, 2, false }, { T(2, 1, 2), U(3, 1, 2, 3), 0, 2, true },
        { T(2, 3, 1), U(3, 3, 4, 2), 1, 1, true },  { T(2, 2, 4), U(3, 2, 5, 3), 1, 4, true },
    };
    if (variant >= COUNT(c)) return NULL;
    Shape s[] = { c[variant].x, c[variant].w };
    Attr attr = { .first = c[variant].first, .count = c[variant].count, .back = c[variant].back };
    return example_build_of(g, OP_linear_each, 2, s, attr);
}

static Node *wave(Graph *g, int variant) {
    static const double frequency[] = { 1, 0.1, 0.01 };
    Node *position = op_source(g, OP_position);
    if (variant >= 2) return NULL;
    Node *y =
        example_build(g, OP_wave, 1, &position,
                      (Attr){ .value = 0.5, .sine = variant, .count = 3, .frequency = frequency });
    return op_mul(y, example_operand(g, T(1, 3)));
}

static Node *chance(Graph *g, int variant) {
    if (variant) return NULL;
    return op_mul(example_build(g, OP_random, 0, NULL, (Attr){ .count = 3 }),
                  example_operand(g, T(1, 3)));
}

static Node *source(Graph *g, Op op, int variant) {
    if (variant) return NULL;
    if (op == OP_param) return example_operand(g, U(1, 3));
    if (op == OP_statistic)
        return op_mul(example_build(g, op, 0, NULL, (Attr){ .name = "b", .shape = U(1, 3) }),
                      example_operand(g, T(1, 3)));
    if (op == OP_fill) return op_mul(op_full(g, &U(1, 3), 0.5), example_operand(g, T(1, 3)));
    if (op == OP_seed || op == OP_per_token || op == OP_generating || op == OP_training
        || op == OP_sampling || op == OP_decoding)
        return op_mul(op_source(g, op), example_operand(g, T(1, 3)));
    return op_embed(example_operand(g, U(2, VOCAB, 2)), op_source(g, op));
}

Node *op_example(Graph *g, Op op, int variant) {
    if (op_info[op].class == POINTWISE) return pointwise(g, op, variant);
    if (op_info[op].class == SOURCE) return source(g, op, variant);
    if (op_info[op].class == HISTORY || op == OP_conv_weight)
        return history_example(g, op, variant);
    switch (op) {
    case OP_wave: return wave(g, variant);
    case OP_reshape: return reshape(g, variant);
    case OP_transpose: return transpose(g, variant);
    case OP_slice: return slice(g, variant);
    case OP_concat: return concat(g, variant);
    case OP_stack: return stack(g, variant);
    case OP_after: return after(g, variant);
    case OP_sum:
    case OP_peak:
    case OP_softmax: return along_axis(g, op, variant);
    case OP_sinkhorn: return sinkhorn(g, variant);
    case OP_sinkhorn_grad: return sinkhorn_grad(g, variant);
    case OP_token_sum: return token_sum(g, variant);
    case OP_linear:
    case OP_linear_back: return product(g, op, variant);
    case OP_linear_weight: return linear_weight(g, variant);
    case OP_linear_each: return linear_each(g, variant);
    case OP_embed:
    case OP_embed_weight: return embed(g, op, variant);
    case OP_random: return chance(g, variant);
    case OP_gather: return gather(g, variant);
    case OP_scatter: return scatter(g, variant);
    case OP_rows: return rows(g, variant);
    case OP_top: return top(g, variant);
    case OP_attention: return example_attention(g, variant);
    case OP_attention_grad: return example_attention_grad(g, variant);
    case OP_cross_entropy: return cross_entropy(g, 0, variant);
    case OP_cross_entropy_grad: return cross_entropy_grad(g, variant);
    case OP_side: return cross_entropy(g, 1, variant);
    default: return op_example_choice(g, op, variant);
    }
}
