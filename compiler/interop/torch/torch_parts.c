/* SPDX-License-Identifier: MIT
** Prints the statements of a part, with local names, so that equal parts have equal statements.
*/
#include "torch_print.h"

#include <stdlib.h>
#include <string.h>

#include "fatal.h"

/* == What a part is given ================================================= */

typedef struct PartScope {
    TorchPrinter *p;
    int part;
    TorchCall *call;
    Text taken;
} PartScope;

static bool is_param(const Node *n) { return n->op == OP_param; }

/* A parameter of the layer, or of the site. */
static bool parts_is_own(const TorchCall *c, const Node *param) {
    size_t n = torch_owner(c->site);
    const char *name = param->attr->name;
    return !strncmp(name, c->site, n) && name[n] == '.';
}

static TorchArgument *new_argument(TorchCall *c) {
    c->argument = checked_more(c->argument, (size_t)c->arguments + 1, sizeof *c->argument);
    TorchArgument *a = &c->argument[c->arguments++];
    *a = (TorchArgument){ 0 };
    return a;
}

static bool is_given(const TorchCall *c, const Node *n) {
    for (int i = 0; i < c->arguments; i++)
        for (int k = 0; k < c->argument[i].nodes; k++)
            if (c->argument[i].node[k] == n) return true;
    return false;
}

static bool is_inner(const PartScope *s, const Node *n) { return s->p->part[n->id] == s->part; }

/* How many operands of a stack come from elsewhere, at its beginning. */
static int listed(const PartScope *s, const Node *stack) {
    int n = 0;
    while (n < stack->nin) {
        const Node *x = torch_operand(stack, n);
        if (is_param(x) || is_inner(s, x) || x->shape.lead != LEAD_TOKENS || s->p->part[x->id] < 0)
            break;
        n++;
    }
    return n;
}

/* May the part's stacks take them as a list: nothing else looks at these, and all that begin with
** one of them begin with all. */
static bool can_be_list(const PartScope *s, const Node *stack, int count) {
    const Graph *g = s->p->g;
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (!is_inner(s, n) || torch_is_alias(n)) continue;
        int met = 0, same = 0;
        for (int k = 0; k < torch_operands(n); k++)
            for (int j = 0; j < count; j++) {
                met += torch_operand(n, k) == torch_operand(stack, j);
                same += k == j && torch_operand(n, k) == torch_operand(stack, j);
            }
        if (met && (n->op != OP_stack || met != count || same != count)) return false;
    }
    return true;
}

static void parts_add_list(PartScope *s, const Node *stack) {
    int count = listed(s, stack);
    while (count > 0 && !can_be_list(s, stack, count))
        count--;
    if (count < 1 || is_given(s->call, torch_operand(stack, 0))) return;
    TorchArgument *a = new_argument(s->call);
    a->list = true;
    a->node = checked_new((size_t)count, sizeof *a->node);
    for (int k = 0; k < count; k++)
        a->node[a->nodes++] = torch_operand(stack, k);
}

static void parts_add_operand(PartScope *s, const Node *x) {
    if (is_inner(s, x) || is_given(s->call, x)) return;
    if (is_param(x) && parts_is_own(s->call, x)) {
        s->call->params = true;
        return;
    }
    TorchArgument *a = new_argument(s->call);
    a->node = checked_new(1, sizeof *a->node);
    a->node[a->nodes++] = x;
}

static void find_arguments(PartScope *s) {
    const Graph *g = s->p->g;
    for (int i = 0; i < g->n; i++)
        if (is_inner(s, g->node[i]) && g->node[i]->op == OP_stack) parts_add_list(s, g->node[i]);
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (!is_inner(s, n) || torch_is_alias(n)) continue;
        for (int k = 0; k < torch_operands(n); k++)
            if (!torch_literal(n, k)) parts_add_operand(s, torch_operand(n, k));
    }
}

/* == Names ================================================================ */

/* What a value is called: after the parameter that makes it, or its operation. */
static const char *wish(const Node *n, char to[64]) {
    static const char *const called[NOP] = { [OP_attention] = "y",  [OP_softmax] = "weights",
                                             [OP_stack] = "stack",  [OP_rsqrt] = "scale",
                                             [OP_recurrence] = "y", [OP_position] = "position",
                                             [OP_largest] = "mask", [OP_tokens] = "ids" };
    if (n->op == OP_wave) return n->attr->sine ? "sine" : "cosine";
    const Node *w = n->nin > 1 ? n->in[n->op == OP_embed ? 0 : 1] : NULL;
    bool named = n->op == OP_linear || n->op == OP_embed || n->op == OP_expert_linear;
    if (named && w->op == OP_param && strlen(w->attr->name) < 64) {
        strcpy(to, w->attr->name);
        char *dot = strrchr(to, '.');
        if (dot) *dot = 0;
        dot = strrchr(to, '.');
        return dot ? dot + 1 : to;
    }
    return called[n->op] ? called[n->op] : "x";
}

static void set(TorchPrinter *p, const Node *n, char *text, TorchLevel level) {
    free(p->at[n->id].text);
    p->at[n->id] = (TorchExpression){ text, level };
}

static const char *argument_wish(const Node *n, char to[64]) {
    if (n->op == OP_wave || n->op == OP_position) return wish(n, to);
    if (!is_param(n)) return "h";
    snprintf(to, 64, "%.63s", n->attr->name);
    return to;
}

static void name_arguments(PartScope *s, Text *t) {
    TorchPrinter *p = s->p;
    const char *before = "";
    char to[64];
    text_add(t, "(");
    if (s->call->params) text_add(t, "p"), before = ", ";
    for (int i = 0; i < s->call->arguments; i++) {
        TorchArgument *a = &s->call->argument[i];
        char *name = torch_name(&s->taken, a->list ? "sources" : argument_wish(a->node[0], to));
        text_add(t, "%s%s", before, name);
        before = ", ";
        for (int k = 0; k < a->nodes; k++) {
            Text value = { 0 };
            if (!a->list) text_add(&value, "%s", name);
            else text_add(&value, k ? "*" : "*%s", name);
            set(p, a->node[k], value.at, LEVEL_WHOLE);
        }
        free(name);
    }
    text_add(t, "):\n");
}

/* == Statements =========================================================== */

/* The node that is a result of n beside its own; NULL: nobody takes it. */
static const Node *side_of(const TorchPrinter *p, const Node *n) {
    for (int i = n->id + 1; op_info[n->op].results > 1 && i < p->g->n; i++)
        if (p->g->node[i]->op == OP_side && p->g->node[i]->in[0] == n && p->uses[i])
            return p->g->node[i];
    return NULL;
}

static void assign(PartScope *s, const Node *n, const char *indent, const char *value, Text *t) {
    char to[64];
    const Node *side = side_of(s->p, n);
    char *name = torch_name(&s->taken, wish(n, to));
    text_add(t, "%s%s", indent, name);
    set(s->p, n, name, LEVEL_WHOLE);
    if (side) {
        name = torch_name(&s->taken, "lse");
        text_add(t, ", %s", name);
        set(s->p, side, name, LEVEL_WHOLE);
    }
    bool first = !side && n->op == OP_attention;
    text_add(t, " = %s%s\n", value, first ? "[0]" : "");
}

static int statement(PartScope *s, const Node *n, const char *indent, Text *t) {
    TorchPrinter *p = s->p;
    Text value = { 0 };
    TorchLevel level;
    for (int k = 0; k < torch_operands(n); k++) {
        const Node *x = torch_operand(n, k);
        if (!is_param(x) || p->at[x->id].text) continue;
        Text param = { 0 };
        torch_param(&param, "p", x, torch_owner(s->call->site));
        set(p, x, param.at, LEVEL_WHOLE);
    }
    if (!torch_operation(p, n, &value, &level)) {
        text_free(&value);
        return p->e->status;
    }
    if (p->uses[n->id] == 1 && !p->outer[n->id] && n->op != OP_attention
        && torch_inline(n, &value)) {
        set(p, n, value.at, level);
        return STATUS_OK;
    }
    assign(s, n, indent, value.at ? value.at : "", t);
    text_free(&value);
    return STATUS_OK;
}

static int statements(PartScope *s, const char *indent, Text *t) {
    const Graph *g = s->p->g;
    int status = STATUS_OK;
    for (int i = 0; i < g->n && !status; i++) {
        const Node *n = g->node[i];
        if (is_inner(s, n) && n->op != OP_side && n->op != OP_tokens && !torch_is_alias(n))
            status = statement(s, n, indent, t);
    }
    return status;
}

static void forget(TorchPrinter *p) {
    for (int i = 0; i < p->g->n; i++)
        set(p, p->g->node[i], NULL, LEVEL_WHOLE);
}

static void returned(PartScope *s, Text *t) {
    TorchPrinter *p = s->p;
    TorchCall *c = s->call;
    text_add(t, "    return ");
    for (int i = 0; i < p->g->n; i++) {
        const Node *n = p->g->node[i];
        if (!is_inner(s, n) || !p->outer[i]) continue;
        c->out = checked_more(c->out, (size_t)c->outs + 1, sizeof *c->out);
        text_add(t, "%s%s", c->outs ? ", " : "", p->at[i].text);
        c->out[c->outs++] = n;
        p->name[i] = torch_name(&p->taken, "h");
    }
    text_add(t, "\n");
}

int torch_part(TorchPrinter *p, int part, TorchCall *call, Text *body) {
    PartScope s = { .p = p, .part = part, .call = call };
    find_arguments(&s);
    name_arguments(&s, body);
    int status = statements(&s, "    ", body);
    if (!status) returned(&s, body);
    forget(p);
    text_free(&s.taken);
    return status;
}

int torch_first(TorchPrinter *p, Text *body) {
    TorchCall none = { .site = "" };
    PartScope s = { .p = p, .part = PART_FIRST, .call = &none, .taken = p->taken };
    for (int i = 0; i < p->g->n; i++)
        if (p->g->node[i]->op == OP_tokens) set(p, p->g->node[i], strdup("ids"), LEVEL_WHOLE);
    int status = statements(&s, "        ", body);
    p->taken = s.taken;
    for (int i = 0; i < p->g->n && !status; i++)
        if (p->part[i] == PART_FIRST && p->at[i].text) p->name[i] = strdup(p->at[i].text);
    forget(p);
    return status;
}
