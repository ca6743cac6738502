/* SPDX-License-Identifier: MIT
** Finds stretches of code for reroll.c: which instructions belong to each, and which stretches are
** equal except for integers.
*/
#ifndef STRATA_STRETCHES_H
#define STRATA_STRETCHES_H

#include "reroll.h"
#include "table.h"

/* An instruction or a block: of which stretch, and its number there. */
typedef struct Item {
    void *what;
    int stretch, place;
} Item;

typedef struct Stretch {
    LLVMBasicBlockRef begin, end; /* the first block and the one that leaves it */
    LLVMBasicBlockRef entry; /* what comes before goes there: 'begin', or what leads to a loop */
    V *value;                /* its instructions */
    int n;
    uint64_t hash; /* of what they do, not of what they do it with */
} Stretch;

struct Reroll {
    Emit *e;
    LLVMBasicBlockRef before, after; /* which goes to the first; where the last goes */
    Stretch *stretch;
    int n, most;
    Item *item;
    Table items;
};

void stretches_find(Reroll *r);
/* NULL: it is the stretch's last. */
LLVMBasicBlockRef stretches_next(const Reroll *r, int stretch, LLVMBasicBlockRef block);
LLVMBasicBlockRef stretches_behind(const Reroll *r, int stretch); /* where it goes when it ends */
bool stretches_alike(const Reroll *r, int i, int j);
/* An integer that may differ between stretches that are alike. */
bool stretches_number(const Reroll *r, V of, unsigned operand);

#endif
