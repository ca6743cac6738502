/*
** Operations over time whose past is of a fixed size: what a token gets of the few tokens before
** it.  A sequence begins with zeros: tokens before its first one are 0.  Of values that have rows
** for some tokens, those of a list, the rows of the same sequence that come before in the list are
** the past.
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
