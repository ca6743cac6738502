/* SPDX-License-Identifier: MIT
** The PyTorch expressions of operations that have a kernel of their own.
*/
#include "torch_print.h"

#include <string.h>

#include "recurrence.h"

static void wave(TorchPrinter *p, const Node *n, Text *t) {
    text_add(t, "wave(");
    torch_add_operand(p, n, 0, t, LEVEL_SUM);
    text_add(t, ", (");
    for (int64_t i = 0; i < n->attr->count; i++) {
        text_add(t, "%s", i ? ", " : "");
        torch_number(t, n->attr->frequency[i]);
    }
    text_add(t, "%s), ", n->attr->count == 1 ? "," : "");
    torch_number(t, n->attr->value);
    text_add(t, ", torch.%s, self.dtype)", n->attr->sine ? "sin" : "cos");
}

static void attention(TorchPrinter *p, const Node *n, Text *t) {
    const Attr *a = n->attr;
    text_add(t, "attend(");
    torch_add_operands(p, n, 0, 3, t);
    if (a->values) text_add(t, "[..., :%lld]", (long long)a->values);
    text_add(t, ", ");
    torch_number(t, a->value);
    if (!a->causal) text_add(t, ", causal=False");
    if (a->window) text_add(t, ", window=%lld", (long long)a->window);
    if (a->softcap > 0) text_add(t, ", softcap="), torch_number(t, a->softcap);
    if (a->count) text_add(t, ", chunk=%lld", (long long)a->count);
    if (n->nin > 3) text_add(t, ", by_distance="), torch_add_operand(p, n, 3, t, LEVEL_SUM);
    if (torch_operands(n) > n->nin)
        text_add(t, ", keys="), torch_add_operand(p, n, n->nin, t, LEVEL_SUM);
    text_add(t, ")");
}

static void recurrence(TorchPrinter *p, const Node *n, Text *t) {
    RecurrenceShape r = recurrence_shape(n);
    text_add(t, "recurrence(");
    torch_add_operands(p, n, 0, 3, t);
    if (r.decay) text_add(t, ", decay="), torch_add_operand(p, n, r.decay, t, LEVEL_SUM);
    if (r.beta) text_add(t, ", beta="), torch_add_operand(p, n, r.beta, t, LEVEL_SUM);
    text_add(t, "%s)", n->attr->delta ? ", delta=True" : "");
}

static void shift(TorchPrinter *p, const Node *n, Text *t) {
    text_add(t, "shift(");
    torch_add_operands(p, n, 0, torch_operands(n), t);
    text_add(t, ", %lld)", (long long)(n->attr->causal ? n->attr->count : -n->attr->count));
}

static void linear_each(TorchPrinter *p, const Node *n, Text *t) {
    const Attr *a = n->attr;
    text_add(t, "torch.einsum(\"%s\", ", a->back ? "btgm,gmk->btgk" : "btgk,gmk->btgm");
    torch_add_operands(p, n, 0, 1, t);
    text_add(t, ", ");
    torch_add_operand(p, n, 1, t, LEVEL_WHOLE);
    text_add(t, "[:, %lld:%lld])", (long long)a->first, (long long)(a->first + a->count));
}

static void linear(TorchPrinter *p, const Node *n, Text *t, TorchLevel *level) {
    text_add(t, "F.linear(");
    torch_add_operands(p, n, 0, 2, t);
    text_add(t, ")");
    if (n->nin < 3) return;
    *level = LEVEL_SUM;
    text_add(t, " + ");
    torch_add_operand(p, n, 2, t, LEVEL_SUM);
}

static void embedding(TorchPrinter *p, const Node *n, Text *t) {
    text_add(t, "F.embedding(");
    torch_add_operand(p, n, 1, t, LEVEL_SUM);
    text_add(t, ", ");
    torch_add_operand(p, n, 0, t, LEVEL_SUM);
    text_add(t, ")");
}

static void scatter(TorchPrinter *p, const Node *n, Text *t) {
    const Node *mask = torch_operand(n, 1);
    text_add(t, "torch.where(");
    bool around = n->shape.rank && p->at[mask->id].level < LEVEL_WHOLE;
    text_add(t, "%s%s%s", around ? "(" : "", p->at[mask->id].text, around ? ")" : "");
    torch_add_axes(t, mask, n->shape.rank);
    text_add(t, " > 0, ");
    torch_add_operand(p, n, 0, t, LEVEL_SUM);
    text_add(t, ", 0.0)");
}

/* Expressions that need no function here. */
static const char *const expression[NOP] = {
#define ANCHOR(op, action, member, results, set, phase, run, family, torch, ...) [OP_##op] = torch,
#include "anchors.def"
};

static void from_row(TorchPrinter *p, const Node *n, Text *t) {
    for (const char *at = expression[n->op]; *at;) {
        size_t plain = strcspn(at, "$");
        text_add(t, "%.*s", (int)plain, at);
        at += plain;
        if (!strncmp(at, "$*", 2)) torch_add_operands(p, n, 0, torch_operands(n), t), at += 2;
        else if (!strncmp(at, "$count", 6)) text_add(t, "%lld", (long long)n->attr->count), at += 6;
        else if (!strncmp(at, "$size", 5)) text_add(t, "%lld", (long long)n->shape.dim[0]), at += 5;
        else if (*at) bug(n, "has an unknown word in its expression in anchors.def");
    }
}

static void iterate(TorchPrinter *p, const Node *n, Text *t) {
    text_add(t, "sinkhorn(");
    torch_add_operands(p, n, 0, 1, t);
    text_add(t, ", %lld, ", (long long)n->attr->count);
    torch_number(t, n->attr->value);
    text_add(t, ")");
}

static void full(const Node *n, Text *t) {
    text_add(t, "torch.full((%s", n->shape.lead == LEAD_TOKENS ? "*ids.shape, " : "");
    for (int i = 0; i < n->shape.rank; i++)
        text_add(t, "%lld, ", (long long)n->shape.dim[i]);
    text_add(t, "), ");
    torch_number(t, n->op == OP_fill ? n->attr->value : n->op == OP_random ? 0.5 : 0);
    text_add(t, ", dtype=self.dtype, device=ids.device)");
}

static bool anchors_refuse(TorchPrinter *p, const Node *n) {
    error_set(p->e, STATUS_USER, "%s: expected operations that transformers can run, found '%s'%s",
              n->site ? n->site : "model", op_info[n->op].name,
              n->shape.list ? " of a route's tokens" : "");
    return false;
}

bool torch_anchor(TorchPrinter *p, const Node *n, Text *t, TorchLevel *level) {
    bool listed = n->nin && n->in[0]->shape.list && op_info[n->op].class == HISTORY;
    if (listed || (n->op == OP_attention && n->attr->count && !n->attr->causal))
        return anchors_refuse(p, n);
    switch (n->op) {
    case OP_tokens: text_add(t, "ids"); break;
    case OP_position:
        text_add(t, "torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)");
        break;
    case OP_wave: wave(p, n, t); break;
    case OP_fill:
    case OP_generating:
    case OP_training:
    case OP_decoding:
    case OP_sampling:
    case OP_random: full(n, t); break;
    case OP_linear: linear(p, n, t, level); break;
    case OP_linear_each: linear_each(p, n, t); break;
    case OP_embed: embedding(p, n, t); break;
    case OP_attention: attention(p, n, t); break;
    case OP_shift: shift(p, n, t); break;
    case OP_recurrence: recurrence(p, n, t); break;
    case OP_sinkhorn: iterate(p, n, t); break;
    case OP_scatter: scatter(p, n, t); break;
    default:
        if (!expression[n->op]) return anchors_refuse(p, n);
        from_row(p, n, t);
    }
    return true;
}
