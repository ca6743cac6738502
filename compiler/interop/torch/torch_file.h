/* SPDX-License-Identifier: MIT
** A modelling file for 'transformers': the graph of a model's logits as PyTorch operations.  The
** printer knows no mixer, sublayer or route by name; it prints the operations that they are made
** of.  Sites with equal operations share a function, and sequences of sites that only pass on
** their results are loops.
**
** Tokens are two leading axes, [batch, time].  Lists of tokens, which routes make, keep both axes
** whole: tokens that are not in a list are computed, and the results are not used.
*/
#ifndef STRATA_TORCH_FILE_H
#define STRATA_TORCH_FILE_H

#include "error.h"
#include "graph.h"
#include "json.h"

/* Adds the file to t: 'g' has the one output "logits", of the form that generates. What has no
** PyTorch operations here is an error that names it: "SITE: ...". */
int torch_file(const Graph *g, Text *t, Error *e);
/* The file that it imports, configuration_strata.py. */
void torch_config_file(Text *t);

#endif
