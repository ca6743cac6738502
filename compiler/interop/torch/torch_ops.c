/* SPDX-License-Identifier: MIT
** The PyTorch expression of a node, given the expressions of its operands.
*/
#include "torch_print.h"

#include <string.h>

/* == Pointwise ============================================================ */

static const char *const function[NOP] = {
    [OP_exp] = "torch.exp",     [OP_log] = "torch.log",       [OP_sqrt] = "torch.sqrt",
    [OP_rsqrt] = "torch.rsqrt", [OP_tanh] = "torch.tanh",     [OP_sigmoid] = "torch.sigmoid",
    [OP_erf] = "torch.erf",     [OP_softplus] = "F.softplus", [OP_relu] = "F.relu",
    [OP_abs] = "torch.abs",     [OP_greater] = "above",       [OP_max] = "torch.maximum",
    [OP_min] = "torch.minimum",
};

static const struct {
    const char *sign;
    TorchLevel level;
} infix[NOP] = {
    [OP_add] = { " + ", LEVEL_SUM },
    [OP_sub] = { " - ", LEVEL_SUM },
    [OP_mul] = { " * ", LEVEL_PRODUCT },
    [OP_div] = { " / ", LEVEL_PRODUCT },
};

static void two_sided(TorchPrinter *p, const Node *n, Text *t, TorchLevel *level) {
    *level = infix[n->op].level;
    bool again = n->op == OP_sub || n->op == OP_div;
    torch_add_operand(p, n, 0, t, *level);
    text_add(t, "%s", infix[n->op].sign);
    torch_add_operand(p, n, 1, t, again ? *level + 1 : *level);
}

/* The larger or the smaller, of which one may be a number. */
static void bound(TorchPrinter *p, const Node *n, Text *t) {
    int literal = torch_literal(n, 0) ? 0 : torch_literal(n, 1) ? 1 : -1;
    if (literal < 0) {
        text_add(t, "%s(", function[n->op]);
        torch_add_operands(p, n, 0, 2, t);
    } else {
        torch_add_operand(p, n, 1 - literal, t, LEVEL_WHOLE);
        text_add(t, ".clamp(%s=", n->op == OP_max ? "min" : "max");
        torch_add_operand(p, n, literal, t, LEVEL_SUM);
    }
    text_add(t, ")");
}

static void select_one(TorchPrinter *p, const Node *n, Text *t) {
    text_add(t, "torch.where(");
    torch_add_operand(p, n, 0, t, LEVEL_SUM);
    text_add(t, " > 0, ");
    torch_add_operands(p, n, 1, 3, t);
    text_add(t, ")");
}

static void pointwise(TorchPrinter *p, const Node *n, Text *t, TorchLevel *level) {
    if (infix[n->op].sign) two_sided(p, n, t, level);
    else if (n->op == OP_max || n->op == OP_min) bound(p, n, t);
    else if (n->op == OP_select) select_one(p, n, t);
    else if (n->op == OP_neg) {
        *level = LEVEL_UNARY;
        text_add(t, "-");
        torch_add_operand(p, n, 0, t, LEVEL_UNARY);
    } else if (n->op == OP_step) {
        text_add(t, "above(");
        torch_add_operand(p, n, 0, t, LEVEL_SUM);
        text_add(t, ", 0)");
    } else if (n->op == OP_stop_gradient || n->op == OP_bf16) {
        torch_add_operand(p, n, 0, t, LEVEL_WHOLE);
        text_add(t, "%s", n->op == OP_bf16 ? ".bfloat16().float()" : ".detach()");
    } else {
        if (!function[n->op]) bug(n, "has no name in PyTorch");
        text_add(t, "%s(", function[n->op]);
        torch_add_operands(p, n, 0, n->nin, t);
        text_add(t, ")");
    }
}

/* == Views and reductions ================================================= */

/* An inner axis of x, counted from the end, where tokens are not. */
static int from_end(const Node *x, int axis) { return axis - x->shape.rank; }

static void dims(Text *t, const Shape *s) {
    for (int i = 0; i < s->rank; i++)
        text_add(t, "%s%lld", i ? ", " : "", (long long)s->dim[i]);
}

/* How many axes of length 1 are added behind those of x; -1: it is another change. */
static int added_axes(const Node *n) {
    const Shape *from = &torch_operand(n, 0)->shape;
    for (int i = 0; i < n->shape.rank; i++)
        if (n->shape.dim[i] != (i < from->rank ? from->dim[i] : 1)) return -1;
    return n->shape.rank - from->rank;
}

static void reshape(TorchPrinter *p, const Node *n, Text *t) {
    bool tokens = n->shape.lead == LEAD_TOKENS;
    int added = added_axes(n);
    if (added > 0) {
        torch_add_operand(p, n, 0, t, LEVEL_WHOLE);
        text_add(t, "[...");
        while (added-- > 0)
            text_add(t, ", None");
        text_add(t, "]");
        return;
    }
    if (tokens) text_add(t, "shaped(");
    torch_add_operand(p, n, 0, t, tokens ? LEVEL_SUM : LEVEL_WHOLE);
    text_add(t, "%s", !tokens ? ".reshape(" : n->shape.rank ? ", " : "");
    if (!tokens && !n->shape.rank) text_add(t, "()");
    dims(t, &n->shape);
    text_add(t, ")");
}

static void transpose(TorchPrinter *p, const Node *n, Text *t) {
    int lead = n->shape.lead == LEAD_TOKENS ? 2 : 0;
    torch_add_operand(p, n, 0, t, LEVEL_WHOLE);
    text_add(t, ".permute(%s", lead ? "0, 1, " : "");
    for (int i = 0; i < n->shape.rank; i++)
        text_add(t, "%s%d", i ? ", " : "", n->attr->perm[i] + lead);
    text_add(t, ")");
}

static void slice(TorchPrinter *p, const Node *n, Text *t) {
    const Attr *a = n->attr;
    torch_add_operand(p, n, 0, t, LEVEL_WHOLE);
    if (from_end(n, a->axis) == -1)
        text_add(t, "[..., %lld:%lld]", (long long)a->first, (long long)(a->first + a->count));
    else
        text_add(t, ".narrow(%d, %lld, %lld)", from_end(n, a->axis), (long long)a->first,
                 (long long)a->count);
}

/* A value without tokens beside values with some: repeated for them. */
static void repeated(TorchPrinter *p, const Node *n, int i, const char *tokens, Text *t) {
    bool list = *tokens == '*';
    torch_add_operand(p, n, i, t, LEVEL_WHOLE);
    text_add(t, ".expand(*%s%s.shape[:2]", tokens + list, list ? "[0]" : "");
    for (int k = 0; k < torch_operand(n, i)->shape.rank; k++)
        text_add(t, ", -1");
    text_add(t, ")");
}

/* Joined along an axis. */
static void torch_ops_join(TorchPrinter *p, const Node *n, Text *t) {
    const char *tokens = NULL;
    int items = 0;
    bool lists = false;
    Text all = { 0 };
    for (int i = 0; i < n->nin; i++)
        if (torch_operand(n, i)->shape.lead == LEAD_TOKENS && (!tokens || *tokens == '*'))
            tokens = p->at[torch_operand(n, i)->id].text;
    for (int i = 0; i < n->nin; i++) {
        const Node *x = torch_operand(n, i);
        const char *text = p->at[x->id].text;
        if (text && !strcmp(text, "*")) continue; /* of a list that is written already */
        lists = lists || (text && *text == '*');
        text_add(&all, "%s", items++ ? ", " : "");
        if (tokens && x->shape.lead == LEAD_NONE) repeated(p, n, i, tokens, &all);
        else torch_add_operand(p, n, i, &all, LEVEL_SUM);
    }
    text_add(t, n->op == OP_stack ? "torch.stack(" : "torch.cat(");
    if (items == 1 && lists) text_add(t, "%s, ", all.at + 1);
    else text_add(t, "(%s%s), ", all.at ? all.at : "", items == 1 ? "," : "");
    text_add(t, "%d)", n->op == OP_stack ? -n->shape.rank : from_end(n, n->attr->axis));
    text_free(&all);
}

static void reduce(TorchPrinter *p, const Node *n, Text *t) {
    torch_add_operand(p, n, 0, t, LEVEL_WHOLE);
    text_add(t, ".%s(%d)",
             n->op == OP_sum        ? "sum"
                 : n->op == OP_peak ? "amax"
                                    : "softmax",
             from_end(torch_operand(n, 0), n->attr->axis));
}

/* == All ================================================================== */

bool torch_operation(TorchPrinter *p, const Node *n, Text *out, TorchLevel *level) {
    *level = LEVEL_WHOLE;
    switch (op_info[n->op].class) {
    case POINTWISE: pointwise(p, n, out, level); return true;
    case REDUCE:
    case SOFTMAX: reduce(p, n, out); return true;
    case VIEW: break;
    default: return torch_anchor(p, n, out, level);
    }
    if (n->op == OP_reshape) reshape(p, n, out);
    else if (n->op == OP_transpose) transpose(p, n, out);
    else if (n->op == OP_slice) slice(p, n, out);
    else torch_ops_join(p, n, out);
    return true;
}

bool torch_inline(const Node *n, const Text *text) {
    Class c = op_info[n->op].class;
    return (class_is_row(c) || c == CONTRACT) && n->op != OP_stack && text->length <= 44;
}
