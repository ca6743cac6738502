/* SPDX-License-Identifier: MIT
** What graphs made of one another share: texts and attributes, each once.  Equal ones are the same
** pointer, so that a pass copies and compares them as such.
*/
#ifndef STRATA_GRAPH_POOL_H
#define STRATA_GRAPH_POOL_H

#include "graph.h"

typedef struct Pool Pool;

Pool *pool_new(void); /* of one graph */
Pool *pool_share(Pool *p);
void pool_leave(Pool *p); /* frees it after the last graph */

const char *pool_text(Pool *p, const char *s);
const char *pool_find(const Pool *p, const char *s); /* NULL: none is equal */
/* Of what the op keeps of it; lists are copied. */
const Attr *pool_attr(Pool *p, Op op, const Attr *a);

#endif
