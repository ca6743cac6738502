/*
** Tests of a row kernel's accesses.  A stray access is written down and the
** kernel left: nothing is read or written out of place, nothing traps, and the
** driver says what it was (runtime/model/guard.c).
*/
#include "rows_check.h"

static V after(Emit *e, V address, int64_t floats) { return e_at(e, address, e_i64(e, floats)); }

/* The code: 1 + 2 * operand, and 1 more for a store. */
static void write_down(Emit *e, const Fence *f, V operand, V address, bool store) {
    V slot = e_pointer(e, f->table, 3 * (int64_t)f->operands), one = e_i64(e, 1);
    V code = e_iadd(e, e_imul(e, operand, e_i64(e, 2)), e_i64(e, 1 + store));
    LLVMBuildStore(e->b, code, slot);
    LLVMBuildStore(e->b, address, LLVMBuildGEP2(e->b, e->i64, slot, &one, 1, ""));
    e_return(e);
}

static void test(Emit *e, const Fence *f, V operand, V lo, V hi, V address, int64_t floats,
                 bool store) {
    V before = LLVMBuildICmp(e->b, LLVMIntULT, address, lo, "");
    V beyond = LLVMBuildICmp(e->b, LLVMIntUGT, after(e, address, floats), hi, "");
    LLVMBasicBlockRef good = LLVMAppendBasicBlockInContext(e->ctx, e->fn, "");
    LLVMBasicBlockRef stray = LLVMAppendBasicBlockInContext(e->ctx, e->fn, "stray");
    LLVMBuildCondBr(e->b, LLVMBuildOr(e->b, before, beyond, ""), stray, good);
    LLVMPositionBuilderAtEnd(e->b, stray);
    write_down(e, f, operand, address, store);
    LLVMPositionBuilderAtEnd(e->b, good);
}

/* Bounds are read where they are needed: kept, they would take every register. */
void fence_test(Emit *e, const Fence *f, int operand, V address, int64_t floats, bool store) {
    if (!e->check) return;
    if (operand == f->operands) {
        test(e, f, e_i64(e, operand), f->scratch, after(e, f->scratch, f->floats), address, floats,
             store);
        return;
    }
    V lo = e_pointer(e, f->table, f->operands + 2 * (int64_t)operand);
    V hi = e_pointer(e, f->table, f->operands + 2 * (int64_t)operand + 1);
    test(e, f, e_i64(e, operand), lo, hi, address, floats, store);
}

void fence_test_piece(Emit *e, const Fence *f, V operand, V address, int64_t floats) {
    if (!e->check) return;
    V at = e_iadd(e, e_imul(e, operand, e_i64(e, 2)), e_i64(e, f->operands));
    V lo = e_pointer_at(e, f->table, at);
    V hi = e_pointer_at(e, f->table, e_iadd(e, at, e_i64(e, 1)));
    test(e, f, operand, lo, hi, address, floats, false);
}

void fence_test_row(Emit *e, const Fence *f, V row, int64_t length, V address, int64_t floats) {
    if (e->check)
        test(e, f, e_i64(e, f->operands + 1), row, after(e, row, length), address, floats, false);
}
