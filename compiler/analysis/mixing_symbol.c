/* SPDX-License-Identifier: MIT
** Depth mixing as formulas, for models whose entries do not depend on the data.  The walk back
** from a read is then a graph of parameters and numbers, and an entry is a formula such as
**     layers.0.mlp.residual.alpha         1 - 0.5 layers.1.residual.alpha[0]
** Long formulas are left out, and so are formulas that are not made of sums and products: entries
** of static hyper-connections are products of matrices.
*/
#include "mixing.h"
#include "mixing_graph.h"

enum { LONGEST = 120, DEEPEST = 500 };

typedef struct Formula {
    const MixingGraph *x;
    Text *t;
    size_t from; /* where in t it begins */
    int depth;   /* nodes from the entry down to where it is */
    bool failed;
} Formula;

/* 'at' is the index along the first axis that is asked for; -1: the axis has one element, or all
** are meant. */
static void symbol_add(Formula *f, const Node *n, int64_t at);

/* A product of ones, as far as 'left' products tell. */
static bool is_one_within(const Formula *f, const Node *n, int *left) {
    while (n->op == OP_reshape && n != f->x->direction)
        n = n->in[0];
    if (n->op == OP_mul)
        return --*left > 0 && is_one_within(f, n->in[0], left) && is_one_within(f, n->in[1], left);
    return n == f->x->direction || (n->op == OP_fill && n->attr->value == 1);
}

static bool is_one(const Formula *f, const Node *n) {
    return is_one_within(f, n, &(int){ DEEPEST });
}

static void add_param(Formula *f, const Node *n, int64_t at) {
    text_add(f->t, "%s", n->attr->name);
    if (at >= 0 && n->shape.dim[0] > 1) text_add(f->t, "[%lld]", (long long)at);
}

/* Axes of length 1 before the first that is longer: an index passes through those. */
static bool same_first_axis(const Shape *a, const Shape *b) {
    int i = 0, k = 0;
    while (i < a->rank && a->dim[i] == 1)
        i++;
    while (k < b->rank && b->dim[k] == 1)
        k++;
    return i == a->rank || k == b->rank || a->dim[i] == b->dim[k];
}

static void add_product(Formula *f, const Node *n, int64_t at) {
    if (is_one(f, n->in[0])) symbol_add(f, n->in[1], at);
    else if (is_one(f, n->in[1])) symbol_add(f, n->in[0], at);
    else {
        bool sum = n->in[0]->op == OP_add || n->in[1]->op == OP_add;
        if (sum) text_add(f->t, "(");
        symbol_add(f, n->in[0], n->in[0]->shape.rank == n->shape.rank ? at : -1);
        text_add(f->t, sum ? ") (" : " ");
        symbol_add(f, n->in[1], n->in[1]->shape.rank == n->shape.rank ? at : -1);
        if (sum) text_add(f->t, ")");
    }
}

static void add_sum(Formula *f, const Node *n, int64_t at, const char *sign) {
    symbol_add(f, n->in[0], at);
    text_add(f->t, "%s", sign);
    symbol_add(f, n->in[1], at);
}

static void add_slice(Formula *f, const Node *n, int64_t at) {
    if (n->attr->axis == 0 && n->attr->count == 1 && at < 0)
        symbol_add(f, n->in[0], n->attr->first);
    else f->failed = true;
}

/* A function of an element, or a softmax over all of which one is meant. */
static void add_call(Formula *f, const Node *n, int64_t at) {
    bool whole = op_info[n->op].class == SOFTMAX;
    text_add(f->t, "%s(", op_info[n->op].name);
    symbol_add(f, n->in[0], whole ? -1 : at);
    text_add(f->t, ")");
    if (whole && at >= 0 && n->shape.dim[0] > 1) text_add(f->t, "[%lld]", (long long)at);
}

static void symbol_add(Formula *f, const Node *n, int64_t at) {
    Class class = op_info[n->op].class;
    f->failed |= f->t->failed || f->t->length > f->from + LONGEST || f->depth == DEEPEST;
    if (f->failed) return;
    f->depth++;
    if (is_one(f, n)) text_add(f->t, "1");
    else if (n->op == OP_param) add_param(f, n, at);
    else if (n->op == OP_fill) text_json_number(f->t, n->attr->value);
    else if (n->op == OP_reshape && (at < 0 || same_first_axis(&n->shape, &n->in[0]->shape)))
        symbol_add(f, n->in[0], at);
    else if (n->op == OP_mul) add_product(f, n, at);
    else if (n->op == OP_add) add_sum(f, n, at, " + ");
    else if (n->op == OP_sub) add_sum(f, n, at, " - ");
    else if (n->op == OP_slice) add_slice(f, n, at);
    else if (class == SOFTMAX || (class == POINTWISE && n->nin == 1)) add_call(f, n, at);
    else f->failed = true;
    f->depth--;
}

bool mixing_symbol(const MixingGraph *x, int read, int source, Text *t) {
    const Node *n = mixing_graph_weight(x, read, source);
    Formula f = { .x = x, .t = t, .from = t->length };
    if (n) symbol_add(&f, n, -1);
    else text_add(t, "0");
    f.failed |= t->failed || t->length > f.from + LONGEST;
    if (!f.failed) return true;
    if (t->at) t->at[t->length = f.from] = 0;
    return false;
}
