/* SPDX-License-Identifier: MIT
** Operations over time that need a fixed number of earlier tokens.  Tokens before the first one of
** a sequence are 0.  If a value has rows for the tokens of a list only, earlier tokens are the
** rows of the same sequence that come before in the list.
*/
#include "op.h"

/* The row of the same sequence that is 'steps' rows earlier (later, if negative); -1: there is
** none. */
static int64_t earlier(const EvalStep *s, int64_t row, int64_t steps) {
    const TokenList *l = &s->list[s->n->in[0]->shape.list];
    int64_t other = row - steps, time = s->input->time;
    if (other < 0 || other >= s->tokens) return -1;
    int64_t a = l->token ? l->token[row] : row, b = l->token ? l->token[other] : other;
    return a / time == b / time ? other : -1;
}

/* "x" must have a row for each token, of any inner axes. */
static const char *check_rows(Node *n, int operand, const char *name) {
    if (n->in[operand]->shape.lead != LEAD_TOKENS)
        return graph_format(n->g, "%s must have a row for each token, not %s", name,
                            shape_text(n->g, &n->in[operand]->shape));
    return operand_is_number(n, operand);
}

/* == shift ================================================================ */

const char *shape_shift(Node *n) {
    n->shape = n->in[0]->shape;
    return check_rows(n, 0, "x");
}

Node *op_shift(Node *x, int64_t tokens, bool earlier) {
    return op_build1(OP_shift, x, (Attr){ .count = tokens, .causal = earlier });
}

void vjp_shift(Node *n, Node **dy, Node **dx) {
    dx[0] = op_shift(dy[0], n->attr->count, !n->attr->causal);
}

void eval_shift(const EvalStep *s) {
    int64_t count = shape_count(&s->n->shape), steps = s->n->attr->count;
    for (int64_t row = 0; row < s->tokens; row++) {
        int64_t from = earlier(s, row, s->n->attr->causal ? steps : -steps);
        for (int64_t i = 0; from >= 0 && i < count; i++)
            s->out[0][row * count + i] = s->in[0][from * count + i];
    }
}

/* == conv ================================================================= */

int64_t op_taps(const Node *n) {
    const Shape *w = n->op == OP_conv || n->op == OP_conv_back ? &n->in[1]->shape : &n->shape;
    return w->rank ? w->dim[w->rank - 1] : 1;
}

/* Taps [groups,n] for a row of 'channels' numbers: as many channels for each group. */
static const char *check_taps(Node *n, const Shape *taps, int64_t channels) {
    if (taps->rank != 2)
        return graph_format(n->g, "taps must be [channels,n], or that for each token, not %s",
                            shape_text(n->g, taps));
    if (taps->dim[0] < 1 || channels % taps->dim[0])
        return graph_format(n->g, "%lld channels cannot share the taps of %lld evenly",
                            (long long)channels, (long long)taps->dim[0]);
    return NULL;
}

static const char *shape_by_taps(Node *n, const char *name) {
    const char *error = check_rows(n, 0, name);
    if (!error) error = operand_is_number(n, 1);
    n->shape = n->in[0]->shape;
    return error ? error : check_taps(n, &n->in[1]->shape, shape_count(&n->shape));
}

const char *shape_conv(Node *n) { return shape_by_taps(n, "x"); }
const char *shape_conv_back(Node *n) { return shape_by_taps(n, "dy"); }

static const char *shape_of_taps(Node *n, Lead lead) {
    const Shape *dy = &n->in[0]->shape, *x = &n->in[1]->shape;
    const char *error = check_rows(n, 0, "dy");
    if (!error) error = check_rows(n, 1, "x");
    if (error) return error;
    n->shape = n->attr->shape;
    n->shape.lead = lead;
    if (shape_count(dy) != shape_count(x))
        return graph_format(n->g, "dy and x have different sizes, %s and %s", shape_text(n->g, dy),
                            shape_text(n->g, x));
    return check_taps(n, &n->shape, shape_count(x));
}

const char *shape_conv_weight(Node *n) { return shape_of_taps(n, LEAD_NONE); }
const char *shape_conv_taps(Node *n) { return shape_of_taps(n, LEAD_TOKENS); }

static Node *conv(Op op, Node *x, Node *w) {
    return op_build(x->g, op, 2, (Node *[]){ x, w }, (Attr){ 0 });
}

/* The cotangent of taps of that shape. */
static Node *of_taps(Node *dy, Node *x, const Shape *taps) {
    Op op = taps->lead == LEAD_TOKENS ? OP_conv_taps : OP_conv_weight;
    return op_build(x->g, op, 2, (Node *[]){ dy, x }, (Attr){ .shape = *taps });
}

/* All four are the same sum of products of dy, w and x, less one of the three: each one's gradients
** are the others. */
void vjp_conv(Node *n, Node **dy, Node **dx) {
    dx[0] = conv(OP_conv_back, dy[0], n->in[1]);
    dx[1] = of_taps(dy[0], n->in[0], &n->in[1]->shape);
}

void vjp_conv_back(Node *n, Node **dy, Node **dx) {
    dx[0] = conv(OP_conv, dy[0], n->in[1]);
    dx[1] = of_taps(n->in[0], dy[0], &n->in[1]->shape);
}

void vjp_conv_weight(Node *n, Node **dy, Node **dx) {
    dx[0] = op_reshape(conv(OP_conv, n->in[1], dy[0]), &n->in[0]->shape);
    dx[1] = op_reshape(conv(OP_conv_back, n->in[0], dy[0]), &n->in[1]->shape);
}

void vjp_conv_taps(Node *n, Node **dy, Node **dx) { vjp_conv_weight(n, dy, dx); }

/* A product of an element of dy's row, one of x's row at or before it, and one of w. */
typedef struct Term {
    int64_t row, from, tap;
} Term;

static void each_term(const EvalStep *s, const Shape *taps, void (*fn)(const EvalStep *s, Term t)) {
    int64_t n = taps->dim[1], channels = shape_count(&s->n->in[0]->shape),
            width = channels / taps->dim[0];
    for (int64_t row = 0; row < s->tokens; row++)
        for (int64_t j = 0; j < n; j++) {
            int64_t from = earlier(s, row, n - 1 - j),
                    w = taps->lead == LEAD_TOKENS ? row * taps->dim[0] * n : 0;
            for (int64_t c = 0; from >= 0 && c < channels; c++)
                fn(s, (Term){ row * channels + c, from * channels + c, w + c / width * n + j });
        }
}

static void add_result(const EvalStep *s, Term t) {
    s->out[0][t.row] += s->in[1][t.tap] * s->in[0][t.from];
}

static void history_add_operand(const EvalStep *s, Term t) {
    s->out[0][t.from] += s->in[1][t.tap] * s->in[0][t.row];
}

static void add_tap(const EvalStep *s, Term t) {
    s->out[0][t.tap] += s->in[0][t.row] * s->in[1][t.from];
}

void eval_conv(const EvalStep *s) { each_term(s, &s->n->in[1]->shape, add_result); }
void eval_conv_back(const EvalStep *s) { each_term(s, &s->n->in[1]->shape, history_add_operand); }
void eval_conv_weight(const EvalStep *s) { each_term(s, &s->n->shape, add_tap); }
void eval_conv_taps(const EvalStep *s) { each_term(s, &s->n->shape, add_tap); }
