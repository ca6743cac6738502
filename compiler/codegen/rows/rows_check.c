/* SPDX-License-Identifier: MIT
** Tests of a row kernel's accesses.  The kernel records a stray access and returns: it reads and
** writes nothing out of place and does not trap, and the driver reports the access
** (runtime/model/guard.c).  A test is a call that changes only its result register, and all tests
** share one exit block: kernels have thousands of tests, and LLVM's time grows faster than the
** code.
*/
#include "rows_check.h"

#include "attributes.h"

#include <stddef.h>

static V after(Emit *e, V address, int64_t floats) { return e_at(e, address, e_i64(e, floats)); }

enum { PRESERVE_ALL = 15 }; /* a calling convention, LLVM's number for it */

/* The code: 1 + 2 * operand, and 1 more for a store. */
static void write_down(Emit *e, V table, V operands, V code, V address) {
    V at = e_imul(e, operands, e_i64(e, 3)), one = e_i64(e, 1);
    V slot = LLVMBuildLoad2(e->b, e->ptr, LLVMBuildGEP2(e->b, e->ptr, table, &at, 1, ""), "");
    LLVMBuildStore(e->b, code, slot);
    LLVMBuildStore(e->b, address, LLVMBuildGEP2(e->b, e->i64, slot, &one, 1, ""));
}

/* bool fence(table, operands, code, lo, hi, address, floats): is it stray? */
static void define_fence(Emit *e, V fn) {
    V a[7];
    LLVMGetParams(fn, a);
    LLVMBasicBlockRef block[3];
    for (int i = 0; i < 3; i++)
        block[i] = LLVMAppendBasicBlockInContext(e->ctx, fn, "");
    LLVMPositionBuilderAtEnd(e->b, block[0]);
    V before = LLVMBuildICmp(e->b, LLVMIntULT, a[5], a[3], "");
    V end = LLVMBuildGEP2(e->b, e->f32, a[5], &a[6], 1, "");
    V beyond = LLVMBuildICmp(e->b, LLVMIntUGT, end, a[4], "");
    LLVMBuildCondBr(e->b, LLVMBuildOr(e->b, before, beyond, ""), block[1], block[2]);
    LLVMPositionBuilderAtEnd(e->b, block[1]);
    write_down(e, a[0], a[1], a[2], a[5]);
    LLVMBuildRet(e->b, LLVMConstInt(e->i1, 1, 0));
    LLVMPositionBuilderAtEnd(e->b, block[2]);
    LLVMBuildRet(e->b, LLVMConstInt(e->i1, 0, 0));
}

static V fence_function(Emit *e) {
    V fn = LLVMGetNamedFunction(e->mod, "k_fence");
    if (fn) return fn;
    LLVMTypeRef args[] = { e->ptr, e->i64, e->i64, e->ptr, e->ptr, e->ptr, e->i64 };
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(e->b);
    fn = LLVMAddFunction(e->mod, "k_fence", LLVMFunctionType(e->i1, args, 7, 0));
    LLVMSetFunctionCallConv(fn, PRESERVE_ALL);
    LLVMSetLinkage(fn, LLVMInternalLinkage); /* each object has its own */
    attribute_add(fn, "noinline");
    LLVMSetCurrentDebugLocation2(e->b, NULL);
    define_fence(e, fn);
    LLVMPositionBuilderAtEnd(e->b, here);
    LLVMSetCurrentDebugLocation2(e->b, line);
    return fn;
}

Fence fence_open(Emit *e, V table, int operands, V scratch, int64_t floats) {
    Fence f = { table, operands, scratch, floats, NULL };
    if (!e->check) return f;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    f.left = LLVMAppendBasicBlockInContext(e->ctx, e->fn, "");
    LLVMPositionBuilderAtEnd(e->b, f.left);
    e_return(e);
    LLVMPositionBuilderAtEnd(e->b, here);
    return f;
}

static void test(Emit *e, const Fence *f, V operand, V lo, V hi, V address, int64_t floats,
                 bool store) {
    V fn = fence_function(e);
    V code = e_iadd(e, e_imul(e, operand, e_i64(e, 2)), e_i64(e, 1 + store));
    V args[] = { f->table, e_i64(e, f->operands), code, lo, hi, address, e_i64(e, floats) };
    V stray = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(fn), fn, args, 7, "");
    LLVMSetInstructionCallConv(stray, PRESERVE_ALL);
    LLVMBasicBlockRef good = LLVMAppendBasicBlockInContext(e->ctx, e->fn, "");
    LLVMBuildCondBr(e->b, stray, f->left, good);
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
