/* SPDX-License-Identifier: MIT
** Functions, loops and variables of emit.h.
*/
#include "emit.h"

#include <llvm-c/DebugInfo.h>
#include <stddef.h>

static LLVMBasicBlockRef new_block(Emit *e, const char *name) {
    return LLVMAppendBasicBlockInContext(e->ctx, e->fn, name);
}

V e_function(Emit *e, const char *name, int nargs, LLVMTypeRef *args) {
    LLVMTypeRef type = LLVMFunctionType(e->void_, args, (unsigned)nargs, 0);
    e->fn = LLVMAddFunction(e->mod, name, type);
    LLVMSetLinkage(e->fn, LLVMInternalLinkage);
    e->entry = new_block(e, "entry");
    LLVMBasicBlockRef body = new_block(e, "");
    LLVMPositionBuilderAtEnd(e->b, e->entry);
    LLVMBuildBr(e->b, body);
    LLVMPositionBuilderAtEnd(e->b, body);
    return e->fn;
}

void e_return(Emit *e) { LLVMBuildRetVoid(e->b); }

/* A loop that is known to run at least once needs no test before it, only one at its end. */
static Loop open_loop(Emit *e, V from, V to, int64_t step, bool once) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
    Loop l = { .head = new_block(e, "loop"), .to = once ? to : NULL };
    l.exit = once ? NULL : new_block(e, "");
    LLVMBuildBr(e->b, l.head);
    LLVMPositionBuilderAtEnd(e->b, l.head);
    l.i = LLVMBuildPhi(e->b, e->i64, "i");
    LLVMAddIncoming(l.i, &from, &before, 1);
    if (!once) {
        LLVMBasicBlockRef body = new_block(e, "");
        LLVMBuildCondBr(e->b, e_ilt(e, l.i, to), body, l.exit);
        LLVMPositionBuilderAtEnd(e->b, body);
    }
    l.next = LLVMBuildNSWAdd(e->b, l.i, e_i64(e, step), "");
    return l;
}

Loop e_loop(Emit *e, V from, V to, int64_t step) {
    int64_t first, last;
    bool once = e_is_constant(from, &first) && e_is_constant(to, &last) && first < last;
    return open_loop(e, from, to, step, once);
}

Loop e_loop_once(Emit *e, V from, V to, int64_t step) { return open_loop(e, from, to, step, true); }

void e_end(Emit *e, Loop l) {
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
    if (l.to) {
        l.exit = new_block(e, "");
        LLVMBuildCondBr(e->b, e_ilt(e, l.next, l.to), l.head, l.exit);
    } else LLVMBuildBr(e->b, l.head);
    LLVMAddIncoming(l.i, &l.next, &latch, 1);
    LLVMPositionBuilderAtEnd(e->b, l.exit);
}

LLVMBasicBlockRef e_if(Emit *e, V condition) {
    LLVMBasicBlockRef then = new_block(e, "then");
    LLVMBasicBlockRef after = new_block(e, "");
    LLVMBuildCondBr(e->b, condition, then, after);
    LLVMPositionBuilderAtEnd(e->b, then);
    return after;
}

void e_endif(Emit *e, LLVMBasicBlockRef after) {
    LLVMBuildBr(e->b, after);
    LLVMPositionBuilderAtEnd(e->b, after);
}

LLVMBasicBlockRef e_next_block(Emit *e) {
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(e->b); /* positioning changes it */
    LLVMBasicBlockRef next = new_block(e, "");
    LLVMBuildBr(e->b, next);
    e_go_back(e, (Place){ next, line });
    return next;
}

Place e_go_to_end(Emit *e, LLVMBasicBlockRef block) {
    Place here = { LLVMGetInsertBlock(e->b), LLVMGetCurrentDebugLocation2(e->b) };
    LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(block));
    return here;
}

void e_go_back(Emit *e, Place to) {
    LLVMPositionBuilderAtEnd(e->b, to.block);
    LLVMSetCurrentDebugLocation2(e->b, to.line);
}

V e_var(Emit *e, V init) {
    Place here = e_go_to_end(e, e->entry);
    V var = LLVMBuildAlloca(e->b, LLVMTypeOf(init), "");
    e_go_back(e, here);
    LLVMBuildStore(e->b, init, var);
    return var;
}

V e_get(Emit *e, V var) { return LLVMBuildLoad2(e->b, LLVMGetAllocatedType(var), var, ""); }

void e_set(Emit *e, V var, V value) {
    int lanes = e_lanes(value);
    LLVMTypeRef want = LLVMGetAllocatedType(var);
    if (LLVMGetTypeKind(want) == LLVMVectorTypeKind && lanes == 1)
        value = e_splat(e, value, (int)LLVMGetVectorSize(want));
    LLVMBuildStore(e->b, value, var);
}
