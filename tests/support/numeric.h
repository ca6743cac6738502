/* SPDX-License-Identifier: MIT
** What numeric tests share: repeatable random numbers, inputs for a graph,
** and the question whether its gradients are right, asked in float64.
*/
#ifndef TESTS_NUMERIC_H
#define TESTS_NUMERIC_H

#include "graph.h"

typedef struct Random {
    uint64_t state;
} Random;

double draw_uniform(Random *r, double low, double high);
int draw_below(Random *r, int count); /* 0 ... count-1 */

/* A graph with values for everything it asks for: parameters are drawn from
** [low, high] and are floats exactly; ids are below 'vocab'. */
typedef struct Case {
    Graph *g; /* borrowed */
    int64_t batch, time;
    int32_t *tokens, *targets;
    double **value; /* by index in g->param */
    Random random;
} Case;

Case *case_new(Graph *g, uint64_t seed, int64_t batch, int64_t time, int vocab, double low,
               double high);
void case_free(Case *c);
/* Parameters are found by name, so that it serves graphs made of c->g, too. */
EvalInput case_input(const Case *c);

/* The worst disagreement, over the parameters of output "loss", between the
** gradient by 'rules' (op_info, or a changed copy of it) and finite
** differences along one random direction, relative to what is added up.
** Decisions are frozen at the base point. */
double case_gradient_error(Case *c, const OpInfo *rules);

/* A copy of op_info where the cotangent of one operand (0, 1 or 2) is wrong by
** a thousandth. */
void wrong_rules(OpInfo *rules, Op op, int operand);

/* Whether an op is only defined for positive operands, or not at 0. */
bool needs_positive(Op op);

/* Numbers that a finite difference cannot tell from zero are 1e-9 and less. */
#define GRADIENT_TOLERANCE 1e-7

/* The sum of all elements of y times random constants, a number. */
Node *weighted_sum(Node *y, Random *r);
Node *sum_all(Node *y);

#endif
