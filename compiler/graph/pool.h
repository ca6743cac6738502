/* SPDX-License-Identifier: MIT
** Texts and attributes that are shared by graphs made from one another, each stored once.  Equal
** ones have the same pointer, so that a pass copies and compares pointers.
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
