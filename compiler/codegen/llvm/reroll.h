/* SPDX-License-Identifier: MIT
** Consecutive stretches of code that are equal except for integers become a loop over a table of
** these integers, so that LLVM compiles the code of many pieces in the time of one.  The same
** operations are executed in the same order.
*/
#ifndef STRATA_REROLL_H
#define STRATA_REROLL_H

#include "emit.h"

typedef struct Reroll Reroll;

/* A stretch uses no value of another one, and nothing behind the last uses one of theirs. */
Reroll *reroll_open(Emit *e);
void reroll_next(Reroll *r);  /* a stretch begins where the builder is */
void reroll_close(Reroll *r); /* the last one ends; frees r */

#endif
