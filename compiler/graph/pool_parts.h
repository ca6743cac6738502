/* SPDX-License-Identifier: MIT
** What a pool is made of, for the files that look things up in it: texts (pool_text.c) and
** attributes (pool.c). */
#ifndef STRATA_POOL_PARTS_H
#define STRATA_POOL_PARTS_H

#include "arena.h"
#include "pool.h"
#include "table.h"

struct Pool {
    int graphs;
    Arena mem;
    Table texts, attrs;
};

#endif
