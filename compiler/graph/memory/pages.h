/* SPDX-License-Identifier: MIT
** Large blocks of zeroed memory.  Passes access them in random order, and page lookups take most
** of that time; these blocks therefore ask the system for huge pages if it has them.
*/
#ifndef STRATA_GRAPH_PAGES_H
#define STRATA_GRAPH_PAGES_H

#include <stdbool.h>
#include <stddef.h>

void *pages_take(size_t bytes); /* ends the program if there is no memory */
/* The same; 'used': it is not zeroed, for it was somebody's before. */
void *pages_take_used(size_t bytes, bool *used);
void pages_free(void *at, size_t bytes);
/* Gives back to the system what was freed: who needs much now is not a pass.  Whether there was
** anything. */
bool pages_leave(void);

#endif
