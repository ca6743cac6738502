/* SPDX-License-Identifier: MIT
** Choices among a token's own numbers.  'largest' marks the k largest along the last axis,
** 'chosen' turns a mask into the places of the marks, 'pick' reads a value's numbers at these
** places, and 'place' writes numbers there; 'pick' and 'place' are each other's gradients.  The
** choice itself has no gradient.  A place of -1 means no choice: picked, it is 0, and nothing is
** written there.
*/
#include "op.h"

static const char *check_count(Node *n, int64_t most) {
    if (n->attr->count >= 1 && n->attr->count <= most) return NULL;
    return graph_format(n->g, "the count must be 1 to %lld, not %lld", (long long)most,
                        (long long)n->attr->count);
}

/* == largest ============================================================== */

static int64_t largest_last_of(const Shape *s) { return s->dim[s->rank - 1]; }

const char *shape_largest(Node *n) {
    const Shape *x = &n->in[0]->shape;
    if (x->lead != LEAD_TOKENS || x->type != F32 || !x->rank)
        return graph_format(n->g, "x must be [tokens,..,N], not %s", shape_text(n->g, x));
    n->shape = *x;
    return check_count(n, largest_last_of(x));
}

void vjp_largest(Node *n, Node **dy, Node **dx) { (void)n, (void)dy, (void)dx; }

/* x[a] comes before x[b]; what is no number comes last. */
static bool largest_before(const double *x, int64_t a, int64_t b) {
    bool number_a = x[a] == x[a], number_b = x[b] == x[b];
    if (number_a != number_b) return number_a;
    return x[a] > x[b] || ((x[a] == x[b] || !number_a) && a < b);
}

void eval_largest(const EvalStep *s) {
    int64_t count = largest_last_of(&s->n->shape),
            rows = s->tokens * shape_count(&s->n->shape) / count;
    for (int64_t r = 0; r < rows; r++) {
        const double *x = s->in[0] + r * count;
        for (int64_t i = 0; i < count; i++) {
            int64_t ahead = 0;
            for (int64_t k = 0; k < count; k++)
                ahead += largest_before(x, k, i);
            s->out[0][r * count + i] = ahead < s->n->attr->count;
        }
    }
}

/* == chosen =============================================================== */

const char *shape_chosen(Node *n) {
    const char *error = operand_is(n, 0, "mask", "[tokens,N]", LEAD_TOKENS, F32, 1);
    n->shape = (Shape){ .lead = LEAD_TOKENS, .type = I32, .rank = 1, .dim = { n->attr->count } };
    return error ? error : check_count(n, n->in[0]->shape.dim[0]);
}

void vjp_chosen(Node *n, Node **dy, Node **dx) { (void)n, (void)dy, (void)dx; }

void eval_chosen(const EvalStep *s) {
    int64_t count = s->n->in[0]->shape.dim[0], most = s->n->attr->count;
    for (int64_t t = 0; t < s->tokens; t++) {
        int64_t found = 0;
        for (int64_t i = 0; i < count && found < most; i++)
            if (s->in[0][t * count + i] > 0) s->out[0][t * most + found++] = (double)i;
        for (; found < most; found++)
            s->out[0][t * most + found] = -1;
    }
}

/* == pick and place ======================================================= */

const char *check_chosen(Node *n, int operand) {
    if (n->in[operand]->op == OP_chosen) return NULL;
    return graph_format(n->g, "places must be what chosen() returned, not %s",
                        shape_text(n->g, &n->in[operand]->shape));
}

static int64_t chosen_of(const Node *places) { return places->in[0]->shape.dim[0]; }

const char *shape_pick(Node *n) {
    const char *error = operand_is(n, 0, "x", "[tokens,N]", LEAD_TOKENS, F32, 1);
    if (!error) error = check_chosen(n, 1);
    if (error) return error;
    if (n->in[0]->shape.dim[0] != chosen_of(n->in[1]))
        return graph_format(n->g, "places among %lld numbers were chosen, x is %s",
                            (long long)chosen_of(n->in[1]), shape_text(n->g, &n->in[0]->shape));
    n->shape = n->in[1]->shape;
    n->shape.type = F32;
    return NULL;
}

void vjp_pick(Node *n, Node **dy, Node **dx) {
    dx[0] = op_build(n->g, OP_place, 2, (Node *[]){ dy[0], n->in[1] }, (Attr){ 0 });
}

/* Numbers of N places and the count of those that were chosen, to each other. */
static void largest_move(const EvalStep *s, int64_t N, int64_t count, bool back) {
    for (int64_t i = 0; i < s->tokens * count; i++) {
        int64_t at = (int64_t)s->in[1][i];
        if (at < 0) continue;
        if (back) s->out[0][i / count * N + at] += s->in[0][i];
        else s->out[0][i] = s->in[0][i / count * N + at];
    }
}

void eval_pick(const EvalStep *s) {
    largest_move(s, s->n->in[0]->shape.dim[0], s->n->shape.dim[0], false);
}

const char *shape_place(Node *n) {
    const char *error = operand_is(n, 0, "y", "[tokens,k]", LEAD_TOKENS, F32, 1);
    if (!error) error = check_chosen(n, 1);
    if (error) return error;
    if (n->in[0]->shape.dim[0] != n->in[1]->shape.dim[0])
        return graph_format(n->g, "%lld places were chosen, y is %s",
                            (long long)n->in[1]->shape.dim[0], shape_text(n->g, &n->in[0]->shape));
    n->shape = (Shape){ .lead = LEAD_TOKENS, .rank = 1, .dim = { chosen_of(n->in[1]) } };
    return NULL;
}

void vjp_place(Node *n, Node **dy, Node **dx) {
    dx[0] = op_build(n->g, OP_pick, 2, (Node *[]){ dy[0], n->in[1] }, (Attr){ 0 });
}

void eval_place(const EvalStep *s) {
    largest_move(s, s->n->shape.dim[0], s->n->in[0]->shape.dim[0], true);
}
