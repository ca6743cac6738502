/* SPDX-License-Identifier: MIT
** Memory and texts that a graph owns. */
#include "arena.h"
#include "op.h"
#include "pool.h"

#include <stdarg.h>
#include <stdio.h>

void *graph_alloc(Graph *g, size_t size) { return arena_take(g->mem, size); }

const char *graph_string(Graph *g, const char *s) { return s ? pool_text(g->pool, s) : NULL; }

const char *graph_format(Graph *g, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int length = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *s = graph_alloc(g, (size_t)length + 1);
    vsnprintf(s, (size_t)length + 1, fmt, again);
    va_end(again);
    return s;
}
