/* SPDX-License-Identifier: MIT
** Stretches of code that follow each other and are the same but for integers become a loop over a
** table of these integers: code for each of many pieces takes LLVM the time of one piece's.  The
** same operations are executed in the same order.
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
