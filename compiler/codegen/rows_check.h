/*
** The accesses of a row kernel, tested (--check builds; rows_check.c).  The
** kernel's table of pointers is then longer: p[0 .. n) the operands, p[n + 2i]
** and p[n + 2i + 1] where operand i may be accessed, from and up to, p[3n] where
** a stray access is written down: two words, a code and the address.
** A fence that is NULL, as in builds without tests, stands for no code at all.
*/
#ifndef STRATA_ROWS_CHECK_H
#define STRATA_ROWS_CHECK_H

#include "emit.h"

typedef struct Fence {
    int operands;
    V table, slot;
    V scratch;
    int64_t floats;         /* of the scratch */
    LLVMBasicBlockRef stray;
    V code, address;        /* of the stray access, merged from all tests */
} Fence;

/* At the kernel's start; its scratch is 'floats' long.  NULL if e->check is off. */
Fence *fence_open(Emit *e, V table, int operands, V scratch, int64_t floats);
/* 'floats' floats from 'address' lie where 'operand' may be accessed; 'operands': the
** scratch.  If they don't, the kernel ends there. */
void fence_test(Emit *e, Fence *f, int operand, V address, int64_t floats, bool store);
/* The same for a row of a stack, that begins at 'row' and is 'length' floats long. */
void fence_test_row(Emit *e, Fence *f, V row, int64_t length, V address, int64_t floats);
/* After the kernel's return. */
void fence_close(Emit *e, Fence *f);

#endif
