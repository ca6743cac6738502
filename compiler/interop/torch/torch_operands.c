/* SPDX-License-Identifier: MIT
** Operands of a node as PyTorch's operations take them, and their expressions. */
#include "torch_print.h"

static const Node *mask_of(const Node *n, int list) { return graph_list(n->g, list)->in[0]; }

/* The list of tokens whose keys attention sees; 0: all. */
static int key_list(const Node *n) { return n->op == OP_attention ? n->in[1]->shape.list : 0; }

int torch_operands(const Node *n) {
    if (n->op == OP_gather) return 1;
    if (n->op == OP_expert_linear) return 3;
    if (n->op == OP_after) return 1;
    return n->nin + (key_list(n) != 0);
}

bool torch_is_alias(const Node *n) {
    return n->op == OP_rows || n->op == OP_gather || n->op == OP_expert_lists || n->op == OP_after
        || (n->op == OP_side && n->in[0]->op == OP_expert_lists);
}

const Node *torch_operand(const Node *n, int i) {
    const Node *x = i == n->nin ? mask_of(n, key_list(n)) : n->in[i];
    while (torch_is_alias(x))
        x = x->in[0];
    return x;
}

static bool is_pointwise(const Node *n) { return op_info[n->op].class == POINTWISE; }

/* Where the others alone give the result its shape. */
bool torch_literal(const Node *n, int i) {
    if (torch_operand(n, i)->op != OP_fill || !is_pointwise(n)) return false;
    Shape all = { 0 };
    bool any = false;
    for (int k = 0; k < n->nin; k++) {
        Shape joined;
        const Node *x = torch_operand(n, k);
        if (x->op == OP_fill) continue;
        if (any && shape_broadcast(&all, &x->shape, &joined)) return false;
        all = any ? joined : x->shape;
        any = true;
    }
    all.list = n->shape.list;
    all.type = n->shape.type;
    return any && shape_equal(&all, &n->shape);
}

void torch_number(Text *t, double value) {
    char text[32];
    if (value > 1e300) text_add(t, "math.inf");
    else if (value < -1e300) text_add(t, "-math.inf");
    else text_add(t, "%s", print_double(text, value));
}

/* Axes of length 1 that a value of fewer axes needs in front of its own, behind the tokens'. */
void torch_add_axes(Text *t, const Node *x, int rank) {
    int missing = rank - x->shape.rank;
    if (x->shape.lead == LEAD_NONE || missing <= 0) return;
    text_add(t, "[%s", x->shape.rank ? ":, :" : "...");
    while (missing-- > 0)
        text_add(t, ", None");
    text_add(t, "]");
}

/* Operand i as a part of something that holds together as tightly as 'level'. */
void torch_add_operand(TorchPrinter *p, const Node *n, int i, Text *t, TorchLevel level) {
    const Node *x = torch_operand(n, i);
    bool literal = torch_literal(n, i);
    TorchLevel own = literal ? x->attr->value < 0 ? LEVEL_UNARY : LEVEL_WHOLE : p->at[x->id].level;
    bool axes = !literal && is_pointwise(n) && x->shape.lead == LEAD_TOKENS
        && n->shape.rank > x->shape.rank;
    bool around = own < (axes ? LEVEL_WHOLE : level);
    text_add(t, "%s", around ? "(" : "");
    if (literal) torch_number(t, x->attr->value);
    else text_add(t, "%s", p->at[x->id].text ? p->at[x->id].text : "?");
    text_add(t, "%s", around ? ")" : "");
    if (axes) torch_add_axes(t, x, n->shape.rank);
}

void torch_add_operands(TorchPrinter *p, const Node *n, int first, int end, Text *t) {
    for (int i = first; i < end; i++) {
        text_add(t, "%s", i > first ? ", " : "");
        torch_add_operand(p, n, i, t, LEVEL_SUM);
    }
}
