/* SPDX-License-Identifier: MIT
** The passes, and what a build chooses of them; passes.def says in which order they run.  A pass
** that returns a graph frees the one it got.
*/
#ifndef STRATA_PASSES_H
#define STRATA_PASSES_H

#include "graph.h"
#include "plan.h"

/* == What a build chooses ================================================= */

/* What a training step stores of the forward part for the backward part: --memory. */
typedef enum Keep {
    KEEP_AUTO,  /* what kernels pass on anyway, and what loads much faster than it is recomputed */
    KEEP_SMALL, /* as little as can be: products are computed again too */
    KEEP_FAST   /* also what is sooner loaded than computed again */
} Keep;

/* Which depth reads share a pass over their sources: --two-phase. */
typedef enum TwoPhase {
    TWO_PHASE_AUTO, /* those that move less for it */
    TWO_PHASE_ON,   /* all that can */
    TWO_PHASE_OFF
} TwoPhase;

TwoPhase two_phase_named(const char *name); /* "on", "off"; else auto */

/* Which weights are small: --weights q8 or q4. */
typedef enum Small { SMALL_NONE, SMALL_Q8, SMALL_Q4 } Small;

/* small_matrices.c.  By number of g's parameters: their bits, 8 or 4; 0: they stay float32.  To be
** freed.  'probe' may be NULL. */
int *small_bits(const Graph *g, const Graph *probe, Small small);

/* The form of a program: as it is trained, or as it generates. */
typedef struct Form {
    bool generating, training, decoding;
} Form;

/* == From graph to graph ================================================== */

Graph *pass_two_phase(Graph *g, TwoPhase how); /* depth reads share a pass over sources */
Graph *pass_form(Graph *g, Form form);
Graph *pass_decays(Graph *g); /* recurrences take factors of decays */
/* Adds an output "grad.NAME" for each parameter that "loss" depends on, except frozen ones; it is
** zero if no gradient reaches the parameter.  Useless nodes stay in the graph until graph_extract
** drops them. */
void pass_gradient(Graph *g);
/* The same with rules other than those of op_info, to test that wrong rules are noticed. */
void pass_gradient_rules(Graph *g, const OpInfo *rules);
Graph *pass_simplify(Graph *g);  /* identities */
Graph *pass_precision(Graph *g); /* products take bfloat16 */
/* Marks small weights in the graph of a program; 'bits' as small_bits gives them for 'model'. */
Graph *pass_small(Graph *g, const Graph *model, const int *bits);
Graph *pass_cache(Graph *g, int kept); /* keys and values as caches keep them: KEPT_BF16, _Q8 */
Graph *pass_recompute(Graph *g, Keep keep); /* backward reads what is cheap again */
Graph *pass_expand(Graph *g);               /* softmax into its parts */

/* == From graph to plan =================================================== */

/* 'training' is a plan with memory, its graph shares attributes with g. */
Alike *pass_alike(Graph *g, const Plan *training);
Plan *pass_schedule(Graph *g, const Alike *alike); /* steps and phases */
void pass_memory(Plan *p, bool reuse);             /* offsets */

#endif
