/* SPDX-License-Identifier: MIT
** Which tokens a value has rows for.  'rows' lists the tokens whose mask is above 0, in order;
** 'gather' takes those rows of a value; 'scatter' puts them back among all tokens, with zeros
** elsewhere.  'gather' and 'scatter' are each other's gradients; the choice itself has none.  A
** value with the rows of a list (Shape.list) can only be combined with values of the same list.
** Attention is the exception: its queries and keys may have different lists, and it compares their
** tokens to tell later from earlier.
**
** 'top' marks the tokens of each sequence with the largest values: k = max(1, floor(share *
** length)) of them, the earlier of equal ones.
*/
#include "error.h"
#include "op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int graph_lists(const Graph *g) { return g->lists; }

/* == rows ================================================================= */

const char *shape_rows(Node *n) {
    const char *error = operand_is(n, 0, "mask", "[tokens]", LEAD_TOKENS, F32, 0);
    if (error) return error;
    if (n->in[0]->shape.list)
        return graph_format(n->g, "mask must be of all tokens, not %s",
                            shape_text(n->g, &n->in[0]->shape));
    if (n->attr->count < 1 || n->attr->count > MAXLISTS)
        return graph_format(n->g, "there can be %d lists of rows", MAXLISTS);
    n->shape = (Shape){ .lead = LEAD_TOKENS, .type = I32 };
    return NULL;
}

void vjp_rows(Node *n, Node **dy, Node **dx) { (void)n, (void)dy, (void)dx; }

/* A token's place among the chosen; -1: it is not. */
void eval_rows(const EvalStep *s) {
    int64_t count = 0;
    for (int64_t t = 0; t < s->all; t++)
        s->out[0][t] = s->in[0][t] > 0 ? (double)count++ : -1;
}

/* == gather and scatter =================================================== */

static const char *check_list(Node *n) {
    if (n->in[1]->op != OP_rows) return "the second operand must be what rows() returned";
    if (n->in[0]->shape.lead != LEAD_TOKENS)
        return graph_format(n->g, "%s has no token axis", shape_text(n->g, &n->in[0]->shape));
    return NULL;
}

const char *shape_gather(Node *n) {
    const char *error = check_list(n);
    if (error) return error;
    if (n->in[0]->shape.list)
        return graph_format(n->g, "x must have all tokens, not %s",
                            shape_text(n->g, &n->in[0]->shape));
    Op op = n->in[0]->op;
    if (n->in[0]->shape.type == I32 && op != OP_position && op != OP_tokens && op != OP_targets)
        return "x must be numbers, or ids of the call: position(), tokens()";
    n->shape = n->in[0]->shape;
    n->shape.list = (int)n->in[1]->attr->count;
    return NULL;
}

Node *op_gather(Node *x, const Node *rows) {
    return op_build(x->g, OP_gather, 2, (Node *[]){ x, (Node *)rows }, (Attr){ 0 });
}

void vjp_gather(Node *n, Node **dy, Node **dx) { dx[0] = op_scatter(dy[0], n->in[1]); }

/* Each chosen token's row of n inner elements: to its place, or back. */
static void ops_rows_move(const EvalStep *s, bool back) {
    int64_t count = shape_count(&s->n->shape);
    for (int64_t t = 0; t < s->all; t++) {
        int64_t place = (int64_t)s->in[1][t];
        for (int64_t i = 0; place >= 0 && i < count; i++)
            if (back) s->out[0][t * count + i] = s->in[0][place * count + i];
            else s->out[0][place * count + i] = s->in[0][t * count + i];
    }
}

void eval_gather(const EvalStep *s) { ops_rows_move(s, false); }

const char *shape_scatter(Node *n) {
    const char *error = check_list(n);
    if (error) return error;
    if (n->in[0]->shape.list != n->in[1]->attr->count)
        return graph_format(n->g, "y must have the rows of list %d, not %s",
                            (int)n->in[1]->attr->count, shape_text(n->g, &n->in[0]->shape));
    n->shape = n->in[0]->shape;
    n->shape.list = 0;
    return operand_is_number(n, 0);
}

Node *op_scatter(Node *y, const Node *rows) {
    return op_build(y->g, OP_scatter, 2, (Node *[]){ y, (Node *)rows }, (Attr){ 0 });
}

void vjp_scatter(Node *n, Node **dy, Node **dx) { dx[0] = op_gather(dy[0], n->in[1]); }

void eval_scatter(const EvalStep *s) { ops_rows_move(s, true); }

/* == top ================================================================== */

const char *shape_top(Node *n) {
    const char *error = operand_is(n, 0, "x", "[tokens]", LEAD_TOKENS, F32, 0);
    if (error) return error;
    if (n->in[0]->shape.list)
        return graph_format(n->g, "x must have all tokens, not %s",
                            shape_text(n->g, &n->in[0]->shape));
    if (!(n->attr->value > 0 && n->attr->value <= 1))
        return graph_format(n->g, "the share must be above 0 and at most 1, not %s",
                            print_double((char[32]){ 0 }, n->attr->value));
    n->shape = (Shape){ .lead = LEAD_TOKENS };
    return NULL;
}

void vjp_top(Node *n, Node **dy, Node **dx) { (void)n, (void)dy, (void)dx; }

/* x of token a comes before that of token b. */
static bool ops_rows_before(const double *x, int64_t a, int64_t b) {
    return x[a] > x[b] || (x[a] == x[b] && a < b);
}

void eval_top(const EvalStep *s) {
    int64_t time = s->input->time, most = (int64_t)floor(s->n->attr->value * (double)time);
    for (int64_t t = 0; t < s->all; t++) {
        int64_t first = t - t % time, ahead = 0;
        for (int64_t i = first; i < first + time; i++)
            ahead += ops_rows_before(s->in[0], i, t);
        s->out[0][t] = ahead < (most < 1 ? 1 : most);
    }
}
