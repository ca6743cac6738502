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
    [GATHER] = "gather",
    [LOSS] = "loss",
    [TOKENSUM] = "sum over tokens",
    [OUTER] = "weight gradient",
    [SCATTER] = "scatter",
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
#define OP(name, arity, results, class, attr, flops, again, help)
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

static const char shapes[] =
    "# Primitives\n\n"
    "Generated from the op table, `compiler/graph/ops.def`; do not edit.  A tensor has a "
    "shape\n"
    "of inner axes and, if it is an activation, one row per token (`[tokens,8]`).  Axes are\n"
    "counted from 1, or from the end as -1, -2; an axis left out is the last one.  Numbers "
    "stand\n"
    "for constants.  `x:shape()` is the list of inner axes.\n\n"
    "`rows(mask)` makes a list of some tokens; `gather(x, list)` has rows for those only\n"
    "(`[rows1,8]`), and so has what is computed of it, at the cost of so many rows; `scatter`\n"
    "takes it back to all tokens.  Rows of two lists do not mix.  Attention sees keys of "
    "tokens\n"
    "that are not later, whichever tokens queries and keys have rows for; one of the two may\n"
    "have all tokens where the other has a list.  Among rows of a list the tokens before are\n"
    "those of the list: windows, distances, taps, states count them; places are the text's.\n\n"
    "Where a row of each token is described, what is the same for all tokens (a parameter, "
    "what is\n"
    "made of parameters) is taken, too, if another operand has tokens: it is repeated for "
    "each,\n"
    "and its gradient is the sum over them.  A table by distances that is the same for all "
    "tokens\n"
    "(`[heads,distances]`) is not repeated, and takes no memory of tokens.\n\n"
    "`attention` is causal unless `causal = false`, and its scale is 1 / sqrt(d), d the "
    "channels of\n"
    "a head of q, unless `scale` says another one; the k-th column of `by_distance` is that of "
    "the\n"
    "key k - 1 tokens before, which for k = 1 is the query's own.  In `recurrence` q and k "
    "have\n"
    "G heads of dk channels, v has H heads of dv, H a multiple of G: head h of v reads head\n"
    "h * G // H of q and k, counted from 0.  `decay` is the logarithm of what a state is "
    "multiplied\n"
    "by, one for a head (`[H]`, `[H,1]`), for each of its dk rows (`[H,dk]`), or a number; "
    "`delta`\n"
    "(`[H]` or a number) is what the delta rule's error is multiplied by, and asks for that "
    "rule.\n"
    "There is no scale: multiply q by it.\n"
    "\n";

void spec_ops_markdown(FILE *f) {
    fputs(shapes, f);
    fputs(
        "The class is what fusion looks at: all of class row between two others become one "
        "kernel.\n\n"
        "## Pointwise\n\n"
        "Class row.  Operands broadcast: inner axes are aligned from the right, a missing axis or\n"
        "one of length 1 is repeated, and a value without tokens is repeated for each.  The "
        "result\n"
        "has the common shape.  In gradients `dy` is the cotangent of the result `y`.\n\n"
        "| function | meaning | gradient |\n|---|---|---|\n",
        f);
    for (Op op = 0; op < NOP; op++)
        if (op_is_function(op)) print_pointwise(f, op);
    fputs("\n## Others\n\n| function | class | shape and meaning | gradient |\n|---|---|---|---|\n",
          f);
    for (int i = 0; i < ops_count; i++) {
        Op op = ops_structural[i].op;
        const char *text = derived(ops_structural[i].name);
        fprintf(f, "| `%s` | %s | %s | %s |\n", ops_structural[i].usage,
                class_name[op_info[op].class], text ? text : op_info[op].help, has_gradient(op));
    }
}
