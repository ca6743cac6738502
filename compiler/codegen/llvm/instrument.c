/* SPDX-License-Identifier: MIT
** Adds a call before every load and store of floats, with the address, and a call at the end of
** every basic block, with the number of operations in it.  A call of the vector library counts as
** one operation per lane, as in cost.c; operations inside that function are reported under its own
** name.  Variables, constant tables and a row kernel's scratch (its last argument) do not count as
** memory of a kernel: accesses whose address begins at one of these are left out.
*/
#include "instrument.h"

#include "attributes.h"

#include <stdio.h>
#include <string.h>

enum { TOUCH, WORK, MEMBERS }; /* of a Watch, in its order */

typedef struct Instrument {
    Emit *e;
    V watch, name; /* name: of the function at work */
    LLVMTypeRef watch_type, call[MEMBERS];
} Instrument;

/* == What instructions are ================================================ */

/* Floats in a value of this type; 0: it holds others. */
static int64_t floats(Instrument *x, LLVMTypeRef t) {
    if (t == x->e->f32) return 1;
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind && LLVMGetElementType(t) == x->e->f32
        ? LLVMGetVectorSize(t)
        : 0;
}

static bool instrument_begins(V function, const char *with) {
    size_t n;
    const char *name = LLVMGetValueName2(function, &n);
    return n >= strlen(with) && !memcmp(name, with, strlen(with));
}

/* A call of a function that is none of arithmetic gives no floats. */
static int64_t call_operations(Instrument *x, V call) {
    V f = LLVMIsAFunction(LLVMGetCalledValue(call));
    int64_t lanes = floats(x, LLVMTypeOf(call));
    if (f && (instrument_begins(f, "llvm.fma") || instrument_begins(f, "llvm.fmuladd")))
        return 2 * lanes;
    if (f && instrument_begins(f, "llvm.vector.reduce."))
        return floats(x,
                      LLVMTypeOf(LLVMGetOperand(call, (unsigned)LLVMGetNumArgOperands(call) - 1)));
    return lanes;
}

static int64_t instrument_operations(Instrument *x, V i) {
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFNeg:
    case LLVMSelect: return floats(x, LLVMTypeOf(i));
    case LLVMCall: return call_operations(x, i);
    default: return 0;
    }
}

static bool is_kernel_memory(V address, V scratch) {
    while (LLVMIsAGetElementPtrInst(address)
           || (LLVMIsAConstantExpr(address) && LLVMGetConstOpcode(address) == LLVMGetElementPtr))
        address = LLVMGetOperand(address, 0);
    return !LLVMIsAAllocaInst(address) && !LLVMIsAGlobalValue(address) && address != scratch;
}

/* == Calls ================================================================ */

static void instrument_tell(Instrument *x, int member, V *args, unsigned n) {
    LLVMBuilderRef b = x->e->b;
    V slot = LLVMBuildStructGEP2(b, x->watch_type, x->watch, (unsigned)member, "");
    LLVMBuildCall2(b, x->call[member], LLVMBuildLoad2(b, x->e->ptr, slot, ""), args, n, "");
}

static void tell_access(Instrument *x, V i, V scratch) {
    bool store = LLVMGetInstructionOpcode(i) == LLVMStore;
    V address = LLVMGetOperand(i, store);
    int64_t n = floats(x, store ? LLVMTypeOf(LLVMGetOperand(i, 0)) : LLVMTypeOf(i));
    if (!n || !is_kernel_memory(address, scratch)) return;
    LLVMPositionBuilderBefore(x->e->b, i);
    V args[] = { x->name, address, e_i64(x->e, n), LLVMConstInt(x->e->i32, store, 0) };
    instrument_tell(x, TOUCH, args, 4);
}

static void watch_block(Instrument *x, LLVMBasicBlockRef block, V scratch) {
    int64_t n = 0;
    V end = LLVMGetBasicBlockTerminator(block);
    for (V i = LLVMGetFirstInstruction(block), next; i; i = next) {
        LLVMOpcode op = LLVMGetInstructionOpcode(i);
        next = LLVMGetNextInstruction(i);
        n += instrument_operations(x, i);
        if (op == LLVMLoad || op == LLVMStore) tell_access(x, i, scratch);
    }
    if (!n || !end) return;
    LLVMPositionBuilderBefore(x->e->b, end);
    V args[] = { x->name, e_i64(x->e, n) };
    instrument_tell(x, WORK, args, 2);
}

static V text(Emit *e, const char *s, size_t n) {
    V init = LLVMConstStringInContext(e->ctx, s, (unsigned)n, 0),
      g = LLVMAddGlobal(e->mod, LLVMTypeOf(init), "watch_name");
    LLVMSetInitializer(g, init);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    return g;
}

static void watch_function(Instrument *x, V f) {
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    bool row = instrument_begins(f, "rows") && LLVMCountParams(f) == 4;
    x->name = text(x->e, name, n);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        watch_block(x, b, row ? LLVMGetParam(f, 3) : NULL);
}

/* == The module =========================================================== */

/* Until somebody watches. */
static V nobody(Instrument *x, int member, const char *name) {
    V f = LLVMAddFunction(x->e->mod, name, x->call[member]);
    LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(x->e->b, LLVMAppendBasicBlockInContext(x->e->ctx, f, ""));
    LLVMBuildRetVoid(x->e->b);
    return f;
}

static void add_watch(Instrument *x, const char *prefix) {
    Emit *e = x->e;
    char name[192];
    LLVMTypeRef touch[] = { e->ptr, e->ptr, e->i64, e->i32 }, work[] = { e->ptr, e->i64 },
                members[] = { e->ptr, e->ptr };
    x->call[TOUCH] = LLVMFunctionType(e->void_, touch, 4, 0);
    x->call[WORK] = LLVMFunctionType(e->void_, work, 2, 0);
    x->watch_type = LLVMStructTypeInContext(e->ctx, members, MEMBERS, 0);
    V init[] = { nobody(x, TOUCH, "watch_no_touch"), nobody(x, WORK, "watch_no_work") };
    snprintf(name, sizeof name, "%s_watch", prefix);
    x->watch = LLVMAddGlobal(e->mod, x->watch_type, name);
    LLVMSetInitializer(x->watch, LLVMConstStructInContext(e->ctx, init, MEMBERS, 0));
}

void instrument_inline(Emit *e) {
    for (V f = LLVMGetFirstFunction(e->mod); f; f = LLVMGetNextFunction(f)) {
        size_t n;
        const char *name = LLVMGetValueName2(f, &n);
        if (!e_calls(name)) continue;
        bool moves = !strcmp(name, "k_collect") || !strcmp(name, "k_spread");
        attribute_remove(f, moves ? "noinline" : "alwaysinline");
        attribute_add(f, moves ? "alwaysinline" : "noinline");
    }
}

void instrument(Emit *e, const char *prefix) {
    Instrument x = { .e = e };
    LLVMSetCurrentDebugLocation2(e->b, NULL);
    V last = LLVMGetLastFunction(e->mod);
    add_watch(&x, prefix);
    for (V f = LLVMGetFirstFunction(e->mod); f; f = f == last ? NULL : LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) watch_function(&x, f);
}
