/* SPDX-License-Identifier: MIT
** Where machine code comes from: a spec's or a mixer's Lua line for every instruction
** of a row kernel, as DWARF line tables, so that perf annotate and gdb show it.
*/
#ifndef STRATA_LINES_H
#define STRATA_LINES_H

#include "emit.h"
#include "graph.h"

typedef struct Lines Lines;

/* For the module of 'e'; 'spec' is the file it came from. */
Lines *lines_open(Emit *e, const char *spec);
/* The function being emitted begins; it comes from there. */
void lines_function(Lines *l, const char *name, Loc loc);
/* Instructions from here on come from there; returns where they came from, for lines_back. */
LLVMMetadataRef lines_set(Lines *l, Loc loc);
void lines_back(Lines *l, LLVMMetadataRef before);
/* Instructions from here on are nobody's. */
void lines_none(Lines *l);
void lines_close(Lines *l);

#endif
