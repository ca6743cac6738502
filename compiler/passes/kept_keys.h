/* SPDX-License-Identifier: MIT
** What caches keep, where that is not what products take of keys and values anyway (kept_keys.c).
*/
#ifndef STRATA_KEPT_KEYS_H
#define STRATA_KEPT_KEYS_H

#include "graph.h"

/* 'kept': KEPT_BF16 or KEPT_Q8 (runtime/kernels/kept_rows.h) */
Graph *pass_cache(Graph *g, int kept);

#endif
