/* SPDX-License-Identifier: MIT
** See exports.h. */
#include "exports.h"

#include "abi.h"
#include "abi_rows.h"
#include "attributes.h"
#include "graph.h"

#include <stdio.h>
#include <string.h>

bool is_export(const char *name) {
    if (strncmp(name, "model_", 6)) return false;
    for (int i = 0; i < API_ROWS; i++)
        if (api_rows[i].need != API_PROGRAM && !strcmp(name + 6, api_rows[i].name)) return true;
    return false;
}

/* The model's own kernels and tables have names too: k_model would be one of prefix "k". */
static void take_name(LLVMModuleRef mod, LLVMValueRef function, const char *name) {
    LLVMValueRef other = LLVMGetNamedFunction(mod, name);
    if (!other) other = LLVMGetNamedGlobal(mod, name);
    if (other) LLVMSetValueName2(other, "hidden", 6); /* LLVM numbers those */
    LLVMSetValueName2(function, name, strlen(name));
}

/* First all lose their names, as the new one of a function may be the old one of another: with
** prefix "model_state" that of model_init is model_state_init. */
void name_exports(LLVMModuleRef mod, const char *prefix) {
    LLVMValueRef export[API_ROWS] = { NULL };
    char name[192];
    for (int i = 0; i < API_ROWS; i++) {
        snprintf(name, sizeof name, "model_%s", api_rows[i].name);
        if (is_export(name)) export[i] = LLVMGetNamedFunction(mod, name);
    }
    for (int i = 0; i < API_ROWS; i++)
        if (export[i]) LLVMSetValueName2(export[i], "", 0);
    for (int i = 0; i < API_ROWS; i++) {
        snprintf(name, sizeof name, "%s_%s", prefix, api_rows[i].name);
        if (export[i]) take_name(mod, export[i], name);
    }
}

/* A jump: on any processor, as what finds out which one it is may be behind it. */
static void add_export(LLVMModuleRef mod, LLVMValueRef to, const char *name, const char *cpu) {
    enum { MOST = 32 };
    LLVMContextRef ctx = LLVMGetModuleContext(mod);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(ctx);
    LLVMTypeRef type = LLVMGlobalGetValueType(to);
    LLVMValueRef fn = LLVMAddFunction(mod, "", type), argument[MOST];
    unsigned n = LLVMCountParams(fn);
    if (n > MOST) bug(NULL, "%s has too many parameters", name);
    take_name(mod, fn, name);
    attribute_set(fn, "target-cpu", cpu);
    LLVMGetParams(fn, argument);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(ctx, fn, ""));
    LLVMValueRef call = LLVMBuildCall2(b, type, to, argument, n, "");
    LLVMSetTailCallKind(call, LLVMTailCallKindMustTail);
    if (LLVMGetTypeKind(LLVMGetReturnType(type)) == LLVMVoidTypeKind) LLVMBuildRetVoid(b);
    else LLVMBuildRet(b, call);
    LLVMDisposeBuilder(b);
}

void add_exports(LLVMModuleRef mod, const char *prefix, const char *cpu) {
    char to[192], name[192];
    for (int i = 0; i < API_ROWS; i++) {
        if (api_rows[i].need == API_PROGRAM) continue;
        snprintf(to, sizeof to, SHARED "model_%s", api_rows[i].name);
        snprintf(name, sizeof name, "%s_%s", prefix, api_rows[i].name);
        LLVMValueRef function = LLVMGetNamedFunction(mod, to);
        if (!function) bug(NULL, "the kernel library lacks %s", to);
        add_export(mod, function, name, cpu);
    }
}

/* == The table of a shared library ======================================== */

typedef struct TableCode {
    LLVMModuleRef mod;
    LLVMBuilderRef b;
    LLVMValueRef table; /* the caller's strata_api */
    LLVMTypeRef bytes;  /* i8: offsets are of bytes */
} TableCode;

static void store_at(const TableCode *c, size_t at, LLVMValueRef value) {
    LLVMTypeRef i64 = LLVMInt64TypeInContext(LLVMGetModuleContext(c->mod));
    LLVMValueRef offset = LLVMConstInt(i64, at, 0);
    LLVMBuildStore(c->b, value, LLVMBuildGEP2(c->b, c->bytes, c->table, &offset, 1, ""));
}

/* Members in their order behind struct_size, then NULL for what is reserved. */
static void store_functions(const TableCode *c, const char *prefix) {
    enum { MEMBERS = (sizeof(strata_api) - sizeof(size_t)) / sizeof(void *) };
    LLVMTypeRef pointer = LLVMPointerTypeInContext(LLVMGetModuleContext(c->mod), 0);
    char name[192];
    for (int i = 0; i < MEMBERS; i++) {
        LLVMValueRef value = LLVMConstNull(pointer);
        if (i < API_ROWS && api_member[i]->need != API_PROGRAM) {
            snprintf(name, sizeof name, "%s_%s", prefix, api_member[i]->name);
            value = LLVMGetNamedFunction(c->mod, name);
            if (!value) bug(NULL, "the module lacks %s", name);
        }
        store_at(c, sizeof(size_t) + (size_t)i * sizeof(void *), value);
    }
}

/* int32_t strata_model_api(strata_api *): a status; a table of another size is refused. */
void add_api_symbol(LLVMModuleRef mod, const char *prefix, const char *cpu) {
    LLVMContextRef ctx = LLVMGetModuleContext(mod);
    TableCode c = { mod, LLVMCreateBuilderInContext(ctx), NULL, LLVMInt8TypeInContext(ctx) };
    LLVMTypeRef i32 = LLVMInt32TypeInContext(ctx), i64 = LLVMInt64TypeInContext(ctx),
                pointer = LLVMPointerTypeInContext(ctx, 0);
    LLVMValueRef fn = LLVMAddFunction(mod, "strata_model_api",
                                      LLVMFunctionType(i32, &pointer, 1, 0));
    LLVMBasicBlockRef block[4];
    attribute_set(fn, "target-cpu", cpu);
    for (int i = 0; i < 4; i++)
        block[i] = LLVMAppendBasicBlockInContext(ctx, fn, "");
    c.table = LLVMGetParam(fn, 0);
    LLVMPositionBuilderAtEnd(c.b, block[0]);
    LLVMBuildCondBr(c.b, LLVMBuildIsNull(c.b, c.table, ""), block[3], block[1]);
    LLVMPositionBuilderAtEnd(c.b, block[1]);
    LLVMValueRef size = LLVMConstInt(i64, sizeof(strata_api), 0);
    LLVMValueRef found = LLVMBuildLoad2(c.b, i64, c.table, "");
    LLVMBuildCondBr(c.b, LLVMBuildICmp(c.b, LLVMIntEQ, found, size, ""), block[2], block[3]);
    LLVMPositionBuilderAtEnd(c.b, block[2]);
    store_functions(&c, prefix);
    LLVMBuildRet(c.b, LLVMConstInt(i32, STRATA_OK, 0));
    LLVMPositionBuilderAtEnd(c.b, block[3]);
    LLVMBuildRet(c.b, LLVMConstInt(i32, STRATA_ERROR_ARGUMENT, 0));
    LLVMDisposeBuilder(c.b);
}
