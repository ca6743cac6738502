/* SPDX-License-Identifier: MIT
** What operands attention and its gradient take, and the shapes of their results. */
#include "error.h"
#include "sequence.h"

#include <math.h>

int node_results(const Node *n) {
    int all = op_info[n->op].results;
    return n->op == OP_attention_grad && !distances_of(n) ? all - 1 : all;
}

static const char *shape_check_options(const Node *n) {
    const Attr *a = n->attr;
    const Shape *k = &n->in[1]->shape;
    if (a->window < 0)
        return graph_format(n->g, "window must be positive, not %lld", (long long)a->window);
    if (a->window && (!a->causal || a->count))
        return "a window is of causal keys, not of averages or of later ones too";
    if (a->window && n->in[0]->shape.list != k->list)
        return "a window needs queries and keys of the same tokens";
    if (a->bits && ((a->bits != 8 && a->bits != 16) || a->count))
        return graph_format(n->g,
                            "keys and values that are no averages have 8 or 16 bits, not %lld",
                            (long long)a->bits);
    if (!(a->softcap >= 0) || isinf(a->softcap))
        return graph_format(n->g, "softcap must be positive, not %s",
                            print_double((char[32]){ 0 }, a->softcap));
    if (!a->values) return NULL;
    if (a->values < 0 || a->values > k->dim[1])
        return graph_format(n->g, "keys have %lld channels, values cannot be the first %lld",
                            (long long)k->dim[1], (long long)a->values);
    if (!shape_equal(k, &n->in[2]->shape) || a->count)
        return "values that are channels of keys need k as v, and are not averages";
    return NULL;
}

/* A table of each query's token, or one for all tokens. */
static bool fits_rows(const Shape *table, const Shape *q) {
    return table->lead == LEAD_NONE ? !q->list : table->list == q->list;
}

static const char *check_distances(Node *n) {
    const Node *table = distances_of(n);
    int at = operands_of(n);
    if (!table) return NULL;
    if (n->nin > at + 1) return graph_format(n->g, "takes at most %d operands", at + 1);
    const Shape *q = &n->in[0]->shape, *t = &table->shape;
    if (t->type != F32 || t->rank != 2)
        return graph_format(n->g,
                            "by_distance must be [heads,distances] or [tokens,heads,distances], "
                            "not %s",
                            shape_text(n->g, t));
    if (t->dim[0] != q->dim[0])
        return graph_format(n->g, "q has %lld heads and by_distance %lld", (long long)q->dim[0],
                            (long long)t->dim[0]);
    if (!n->attr->causal || n->attr->count || q->list != n->in[1]->shape.list || !fits_rows(t, q))
        return "distances are those of causal keys of the queries' tokens, not of averages";
    return NULL;
}

static const char *check_heads(Node *n) {
    if (n->nin < operands_of(n))
        return graph_format(n->g, "takes at least %d operands, found %d", operands_of(n), n->nin);
    const char *error = operand_is(n, 0, "q", "[tokens,heads,d]", LEAD_TOKENS, F32, 2);
    if (!error) error = operand_is(n, 1, "k", "[tokens,heads,d]", LEAD_TOKENS, F32, 2);
    if (!error) error = operand_is(n, 2, "v", "[tokens,heads,e]", LEAD_TOKENS, F32, 2);
    if (error) return error;
    const Shape *q = &n->in[0]->shape, *k = &n->in[1]->shape, *v = &n->in[2]->shape;
    if (q->dim[1] != k->dim[1])
        return graph_format(n->g, "head dimensions of q and k differ: %lld and %lld",
                            (long long)q->dim[1], (long long)k->dim[1]);
    if (k->dim[0] != v->dim[0])
        return graph_format(n->g, "k has %lld heads and v %lld", (long long)k->dim[0],
                            (long long)v->dim[0]);
    if (q->dim[0] % k->dim[0])
        return graph_format(n->g, "%lld query heads cannot share %lld key heads evenly",
                            (long long)q->dim[0], (long long)k->dim[0]);
    if (k->list != v->list)
        return graph_format(n->g, "k and v have rows of different tokens: %s and %s",
                            shape_text(n->g, k), shape_text(n->g, v));
    if (q->list && k->list && q->list != k->list)
        return graph_format(n->g,
                            "q and k have rows of two lists, %s and %s: one must have all tokens",
                            shape_text(n->g, q), shape_text(n->g, k));
    if (n->attr->count && (q->list || k->list)) return "averages are of all tokens, not of some";
    if (n->attr->count < 0)
        return graph_format(n->g, "%s must be positive, not %lld",
                            n->attr->causal ? "chunk" : "pools", (long long)n->attr->count);
    error = shape_check_options(n);
    return error ? error : check_distances(n);
}

const char *shape_attention(Node *n) {
    const char *error = check_heads(n);
    if (error) return error;
    Heads h = heads_of(n);
    int list = n->in[0]->shape.list;
    n->shape = (Shape){ .lead = LEAD_TOKENS, .list = list, .rank = 2, .dim = { h.H, h.e } };
    n->side[1] = (Shape){ .lead = LEAD_TOKENS, .list = list, .rank = 1, .dim = { h.H } };
    return NULL;
}

const char *shape_attention_grad(Node *n) {
    const char *error = check_heads(n);
    if (error) return error;
    Heads h = heads_of(n);
    int list = n->in[0]->shape.list;
    Shape o = { .lead = LEAD_TOKENS, .list = list, .rank = 2, .dim = { h.H, h.e } };
    Shape lse = { .lead = LEAD_TOKENS, .list = list, .rank = 1, .dim = { h.H } };
    const Shape *want[] = { &lse, &lse, &o };
    for (int i = 3; i < 6; i++)
        if (!shape_equal(want[i - 3], &n->in[i]->shape))
            return graph_format(n->g, "operand %d must be %s, not %s", i,
                                shape_text(n->g, want[i - 3]), shape_text(n->g, &n->in[i]->shape));
    n->shape = n->in[0]->shape;
    n->side[1] = n->in[1]->shape;
    n->side[2] = n->in[2]->shape;
    n->side[2].dim[1] = h.e;
    if (distances_of(n)) n->side[3] = h.one_table ? lse : distances_of(n)->shape;
    return NULL;
}
