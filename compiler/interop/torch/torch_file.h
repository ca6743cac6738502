/* SPDX-License-Identifier: MIT
** A modelling file for 'transformers': the graph of a model's logits as PyTorch operations. No
** mixer, sublayer or route is known by name; what is printed is the operations that they are made
** of. Sites with equal operations share a function, and runs of them that only hand their results
** on are loops.
**
** Tokens are two axes in front, [batch, time]. Lists of tokens, which routes make, stay whole
** there: what is not in a list is computed and not looked at.
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
