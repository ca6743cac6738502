/* SPDX-License-Identifier: MIT
** Long stacks of parameters and numbers, such as the biases of a read's sources.  Stacks with the
** same beginning become parts of the longest one, which is computed once and stored, so that
** kernels that read parts of it have the same code, whatever the length.
*/
#ifndef STRATA_UNIFORM_LISTS_H
#define STRATA_UNIFORM_LISTS_H

#include "rebuild.h"

typedef struct UniformLists UniformLists;

UniformLists *uniform_lists(Graph *g);
/* The node that replaces 'old', a node of g; NULL if 'old' is no such stack. */
Node *uniform_list(UniformLists *u, Rebuild *r, const Node *old);

#endif
