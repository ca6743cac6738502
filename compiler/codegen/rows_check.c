/*
** Tests of a row kernel's accesses.  All tests of a kernel branch to one block,
** which writes down the first stray access and leaves the kernel: nothing is
** read or written out of place, nothing traps, and the driver says what it was.
*/
#include "rows_check.h"

#include <stdio.h>
#include <stdlib.h>

static V after(Emit *e, V address, int64_t floats) {
    return e_at(e, address, e_i64(e, floats));
}

Fence *fence_open(Emit *e, V table, int operands, V scratch, int64_t floats) {
    if (!e->check) return NULL;
    Fence *f = malloc(sizeof *f);
    if (!f) {
        fprintf(stderr, "error: memory: expected room for a kernel's tests, found none\n");
        exit(3);
    }
    *f = (Fence){ .table = table, .operands = operands, .scratch = scratch, .floats = floats };
    f->slot = e_pointer(e, table, 3 * (int64_t)operands);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    f->stray = LLVMAppendBasicBlockInContext(e->ctx, e->fn, "stray");
    LLVMPositionBuilderAtEnd(e->b, f->stray);
    f->code = LLVMBuildPhi(e->b, e->i64, "");
    f->address = LLVMBuildPhi(e->b, e->ptr, "");
    LLVMPositionBuilderAtEnd(e->b, here);
    return f;
}

/* The code: 1 + 2 * operand, and 1 more for a store (kernels/guard.c reads it). */
static void test(Emit *e, Fence *f, int operand, V lo, V hi, V address, int64_t floats, bool store) {
    V before = LLVMBuildICmp(e->b, LLVMIntULT, address, lo, "");
    V beyond = LLVMBuildICmp(e->b, LLVMIntUGT, after(e, address, floats), hi, "");
    V code = e_i64(e, 1 + 2 * (int64_t)operand + store);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef good = LLVMAppendBasicBlockInContext(e->ctx, e->fn, "");
    LLVMBuildCondBr(e->b, LLVMBuildOr(e->b, before, beyond, ""), f->stray, good);
    LLVMAddIncoming(f->code, &code, &here, 1);
    LLVMAddIncoming(f->address, &address, &here, 1);
    LLVMPositionBuilderAtEnd(e->b, good);
}

/* Bounds are read where they are needed: kept, they would take every register. */
void fence_test(Emit *e, Fence *f, int operand, V address, int64_t floats, bool store) {
    if (!f) return;
    if (operand == f->operands) {
        test(e, f, operand, f->scratch, after(e, f->scratch, f->floats), address, floats, store);
        return;
    }
    V lo = e_pointer(e, f->table, f->operands + 2 * (int64_t)operand);
    V hi = e_pointer(e, f->table, f->operands + 2 * (int64_t)operand + 1);
    test(e, f, operand, lo, hi, address, floats, store);
}

void fence_test_row(Emit *e, Fence *f, V row, int64_t length, V address, int64_t floats) {
    if (f) test(e, f, f->operands + 1, row, after(e, row, length), address, floats, false);
}

void fence_close(Emit *e, Fence *f) {
    if (!f) return;
    V one = e_i64(e, 1);
    if (LLVMCountIncoming(f->code)) {
        LLVMPositionBuilderAtEnd(e->b, f->stray);
        LLVMBuildStore(e->b, f->code, f->slot);
        LLVMBuildStore(e->b, f->address, LLVMBuildGEP2(e->b, e->i64, f->slot, &one, 1, ""));
        e_return(e);
    } else
        LLVMDeleteBasicBlock(f->stray);
    free(f);
}
