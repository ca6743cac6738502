/* SPDX-License-Identifier: MIT
** specs/library/ops.md: the primitives as a spec sees them, from the op table.
*/
#include "bindings.h"

#include <string.h>

static const char *const class_name[] = {
    [SOURCE] = "source",
    [POINTWISE] = "row, pointwise",
    [VIEW] = "row, view",
    [REDUCE] = "row, reduction",
    [SOFTMAX] = "row, softmax",
    [ITERATION] = "row, iteration",
    [WAVE] = "row, wave",
    [CONTRACT] = "product",
    [PARTWISE] = "gather",
    [LOOKUP] = "gather",
    [DRAW] = "gather",
    [GATHER] = "gather",
    [PICK] = "gather",
    [LOSS] = "loss",
    [TOKENSUM] = "sum over tokens",
    [OUTER] = "weight gradient",
    [SCATTER] = "scatter",
    [TAPS] = "scatter",
    [SEQUENCE] = "sequence",
    [HISTORY] = "history",
    [EXPERT] = "product",
    [CHOICE] = "choice",
    [SIDE] = "result",
};

/* The gradient column of a pointwise row, as it is written there. */
static const char *const gradient[NOP] = {
#define OP1(name, f64, dx, llvm, cost, again, help) [OP_##name] = #dx,
#define OP2(name, f64, da, db, llvm, cost, again, help) [OP_##name] = #da "; " #db,
#define OP3(name, f64, dc, da, db, llvm, cost, again, help) [OP_##name] = #da "; " #db,
#define OP(name, ...)
#include "ops.def"
};

/* op_mul(dy, b) as mul(dy, b); NULL as 0 */
static void print_gradient(FILE *f, Op op) {
    const char *s = gradient[op] ? gradient[op] : "yes";
    while (*s) {
        if (!strncmp(s, "NULL", 4)) fputc('0', f), s += 4;
        else if (!strncmp(s, "op_", 3)) s += 3;
        else fputc(*s++, f);
    }
}

static void print_pointwise(FILE *f, Op op) {
    static const char *const usage[] = { "", "x", "a, b", "c, a, b" };
    static const struct {
        Op op;
        const char *sign;
    } operator[] = { { OP_add, "a + b" },
                     { OP_sub, "a - b" },
                     { OP_mul, "a * b" },
                     { OP_div, "a / b" },
                     { OP_neg, "-x" } };
    const char *sign = NULL;
    for (size_t i = 0; i < sizeof operator / sizeof *operator; i++)
        if (operator[i].op == op) sign = operator[i].sign;
    fprintf(f, "| `%s(%s)`", op_info[op].name, usage[op_info[op].arity]);
    if (sign) fprintf(f, ", `%s`", sign);
    fprintf(f, " | %s | ", op_info[op].help);
    print_gradient(f, op);
    fprintf(f, " |\n");
}

/* Ops that have no gradient say so in the op table's help or are sources. */
static const char *has_gradient(Op op) {
    bool none = op_info[op].class == SOURCE || op_info[op].class == WAVE
        || strstr(op_info[op].help, "no gradient");
    return none ? "none" : "yes";
}

/* What a function is that has no op of its own; NULL: the op's help says it. */
static const char *derived(const char *name) {
    if (!strcmp(name, "mean")) return "`sum` along the axis, divided by its length";
    return strcmp(name, "attention_lse") ? NULL : "side 1 of `attention` of the same operands, [H]";
}

static const char head[] =
    "# Primitives\n\n"
    "Look up the operations that a mixer, sublayer or route can use, with their shapes and "
    "gradients.\n"
    "This page is generated from the op table, `compiler/graph/ops.def`; do not edit it.\n\n"
    "    strata inspect SPEC --graph                 the operations of a spec\n\n"
    "## Shapes\n\n"
    "A tensor has a shape of inner axes.  An activation also has one row per token "
    "(`[tokens,8]`).\n"
    "Axes are counted from 1, or from the end as -1, -2; the default is the last axis.  Numbers "
    "are\n"
    "accepted as constants.  `x:shape()` is the list of inner axes.\n\n"
    "A parameter, or what is computed from parameters only, is the same for all tokens.  It is\n"
    "accepted in place of one row per token if another operand has tokens: it is repeated for "
    "each\n"
    "token, and its gradient is the sum over tokens.  A table `by_distance` that is the same for "
    "all\n"
    "tokens (`[heads,distances]`) is not repeated and takes no memory per token.\n\n"
    "The class decides fusion: all operations of class row between two others become one "
    "kernel.\n\n"
    "## Lists of tokens\n\n"
    "`rows(mask)` makes a list of some tokens.  `gather(x, list)` has rows for these tokens only\n"
    "(`[rows1,8]`), and so has everything computed from it, at the cost of that many rows.  "
    "`scatter`\n"
    "returns to rows of all tokens.  Rows of two lists cannot be mixed.  Attention sees the keys "
    "of\n"
    "tokens that are not later than the query's, whichever tokens have rows; queries or keys may "
    "have\n"
    "rows of all tokens while the others have rows of a list.  Among rows of a list, earlier "
    "tokens are\n"
    "those of the list: windows, distances, taps and states count them.  Positions are those in "
    "the text.\n\n"
    "## Attention and recurrence\n\n"
    "`attention` is causal unless `causal = false`.  Its scale is 1 / sqrt(d) by default, d being "
    "the\n"
    "channels of a head of q.  Column k of `by_distance` belongs to the key k - 1 tokens before "
    "the\n"
    "query; column 1 is the query's own key.\n\n"
    "In `recurrence`, q and k have G heads of dk channels, and v has H heads of dv channels.  H is "
    "a\n"
    "multiple of G: head h of v reads head h * G // H of q and k, counted from 0.  `decay` is the\n"
    "logarithm of the factor that multiplies the state: one per head (`[H]`, `[H,1]`), one for "
    "each of\n"
    "its dk rows (`[H,dk]`), or a number.  `delta` (`[H]` or a number) selects the delta rule and\n"
    "multiplies its error.  There is no scale: multiply q by it.\n\n"
    "## Pointwise\n\n"
    "These operations have class row.  Operands broadcast: inner axes are aligned from the right, "
    "a\n"
    "missing axis or one of length 1 is repeated, and a value without tokens is repeated for each\n"
    "token.  The result has the common shape.  In gradients `dy` is the cotangent of the result "
    "`y`.\n\n"
    "| function | meaning | gradient |\n|---|---|---|\n";

/* An item of a list, its lines at most 100 columns wide. */
static void print_item(FILE *f, const char *text) {
    size_t column = 0;
    fputs("-", f);
    for (const char *word = text; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " ");
        if (column && column + 1 + n > 98) fputs("\n ", f), column = 0;
        fprintf(f, " %.*s", (int)n, word);
        column += 1 + n;
        word += n;
    }
    fputs("\n", f);
}

static void print_structural(FILE *f, const Structural *s) {
    char text[2048];
    const char *help = derived(s->name) ? derived(s->name) : op_info[s->op].help;
    snprintf(text, sizeof text, "`%s` (class %s; gradient: %s): %s.", s->usage,
             class_name[op_info[s->op].class], has_gradient(s->op), help);
    print_item(f, text);
}

void spec_ops_markdown(FILE *f) {
    fputs(head, f);
    for (Op op = 0; op < NOP; op++)
        if (op_is_function(op)) print_pointwise(f, op);
    fputs("\n## Others\n\n", f);
    for (int i = 0; i < ops_count; i++)
        print_structural(f, &ops_structural[i]);
}
