/* SPDX-License-Identifier: MIT
** Reverse-mode differentiation of the output "loss".
*/
#ifndef STRATA_GRADIENT_H
#define STRATA_GRADIENT_H

#include "graph.h"

/* Adds an output "grad.NAME" for each parameter that "loss" is made of, but for those that are
** frozen; zeros where nothing flows back.  Nodes that turn out to be useless stay behind:
** graph_extract drops them. */
void pass_gradient(Graph *g);

/* The same with other rules than op_info: for testing that wrong ones show. */
void pass_gradient_rules(Graph *g, const OpInfo *rules);

#endif
