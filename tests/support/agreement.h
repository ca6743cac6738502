/* SPDX-License-Identifier: MIT
** Whether a compiled graph (compiled.h) computes what the float64 interpreter says that it must.
*/
#ifndef TESTS_AGREEMENT_H
#define TESTS_AGREEMENT_H

#include "compiled.h"
#include "passes.h"
#include "kept_rows.h"

/* A case for a graph of a model: matrices are scaled so that values keep their size. */
Case *compiled_case(Graph *g, uint64_t seed, int64_t batch, int64_t time, int vocab);

/* By how much what is compiled may differ from what is expected: logits and losses by
** 'value' of the largest, gradients by 'gradient' of theirs (agreement.c). */
typedef struct Allowed {
    double value, gradient;
} Allowed;

/* What the interpreter computes for a case: logits, losses and gradients; these
** by 'rules' (op_info, or a copy changed on purpose).  What is allowed is what
** float32 takes, until somebody changes it. */
typedef struct Expected {
    Graph *g;
    Eval *ev;
    Allowed allowed;
} Expected;
void expected_open(Expected *e, const Case *c, const OpInfo *rules);
void expected_open_bf16(Expected *e, const Case *c); /* of a model built with --precision bf16 */
void expected_open_small(Expected *e, const Case *c, Small small); /* built with --weights */
/* Forward, built with --cache: KEPT_BF16 or KEPT_Q8. */
void expected_open_kept(Expected *e, const Case *c, int kept, bool bf16);
void expected_close(Expected *e);

/* Runs logits, loss and, of what trains, forward_backward on the case.  True if all agree; else
** what does not, in one line. */
bool compiled_agrees(Instance *r, const Case *c, const Expected *e, char *why, size_t size);

/* By what share of themselves float32 may move parameters: a millionth, or what adding up so many
** 'terms' may be off. */
double case_rounding(int64_t terms);

/* True if the interpreter's own results move by what it would not forgive when parameters move by
** their rounding, every result by an ulp of float32: a tie, or a number that is all rounding. */
bool case_is_shaky(Case *c, const Expected *e, int64_t terms);
/* By how much the interpreter's results move, as shares like those of 'allowed', when parameters
** move by 'share' of themselves, and every result by an ulp of float32; 'bf16': instead of that,
** products' operands are rounded, as in e. */
Allowed case_moves(Case *c, const Expected *e, double share, bool bf16);

/* All of it for one graph, which it frees, and one (batch, time) after another, up to
** batch 0.  AGREES, or another answer with a line in 'why'. */
typedef struct Extent {
    int64_t batch, time;
} Extent;
typedef enum Answer { AGREES, DIFFERS, SHAKY } Answer;
Answer graph_answer(Graph *g, uint64_t seed, const CodegenOptions *o, const Extent *extent,
                    char *why, size_t size);
/* The same in a process of its own (compiled.h): 0 if it agrees, else what 'apart' returns, with
** the line on standard error.  It frees the graph. */
int graph_status(Graph *g, const CodegenOptions *o, const Extent *extent);

#endif
