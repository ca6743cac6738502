/* SPDX-License-Identifier: MIT
** Tests the accesses of a row kernel in builds with e->check; other builds get no code from it.
** With tests, the kernel's table of pointers is longer: p[0 .. n) are the operands, p[n + 2i] and
** p[n + 2i + 1] are the first and the last limit of operand i, and p[3n] is where the kernel
** records a stray access, as two words: a code and the address.
*/
#ifndef STRATA_ROWS_CHECK_H
#define STRATA_ROWS_CHECK_H

#include "emit.h"

typedef struct Fence {
    V table;      /* p */
    int operands; /* n */
    V scratch;
    int64_t floats;         /* of the scratch */
    LLVMBasicBlockRef left; /* by which a kernel with a stray access is left */
} Fence;

/* In the kernel that is being emitted. */
Fence fence_open(Emit *e, V table, int operands, V scratch, int64_t floats);

/* 'floats' floats from 'address' lie where 'operand' may be accessed; operand n is
** the scratch.  If they don't, the kernel ends there. */
void fence_test(Emit *e, const Fence *f, int operand, V address, int64_t floats, bool store);
/* The same for an operand whose number is known when it runs: a load. */
void fence_test_piece(Emit *e, const Fence *f, V operand, V address, int64_t floats);
/* The same for a row of a stack, that begins at 'row' and is 'length' floats long. */
void fence_test_row(Emit *e, const Fence *f, V row, int64_t length, V address, int64_t floats);

#endif
