/* SPDX-License-Identifier: MIT
** See blas_calls.h.  OpenBLAS's integers are of 32 bits, as in every package that is not called
** openblas64. */
#include "blas_calls.h"

#include "module.h"
#include "program.h"

#include <string.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, PARALLEL_THREADS = 1 };

static V function_named(Emit *e, const char *name, LLVMTypeRef type) {
    V fn = LLVMGetNamedFunction(e->mod, name);
    return fn ? fn : LLVMAddFunction(e->mod, name, type);
}

/* Opens the function that the kernel library declares. */
static V begin_function(Emit *e, const char *name, LLVMTypeRef type) {
    V fn = function_named(e, name, type);
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->ctx, fn, ""));
    return fn;
}

static V call(Emit *e, const char *name, LLVMTypeRef result, LLVMTypeRef *types, V *args, int n) {
    LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)n, 0);
    return LLVMBuildCall2(e->b, type, function_named(e, name, type), args, (unsigned)n, "");
}

static V blas_calls_number(Emit *e, int x) { return LLVMConstInt(e->i32, (unsigned)x, 0); }

static V is_set(Emit *e, V how, int bit) {
    V masked = LLVMBuildAnd(e->b, how, blas_calls_number(e, bit), "");
    return LLVMBuildICmp(e->b, LLVMIntNE, masked, blas_calls_number(e, 0), "");
}

static V layout(Emit *e, V how, int bit) {
    return LLVMBuildSelect(e->b, is_set(e, how, bit), blas_calls_number(e, TRANSPOSED),
                           blas_calls_number(e, PLAIN), "");
}

/* Members of BlasProduct: rows, columns, steps, a, lda, b, ldb, c, ldc, how. */
enum { MEMBERS = sizeof(BlasProduct) / sizeof(int64_t) };

static V blas_calls_member(Emit *e, V product, int i) {
    bool pointer = i == 3 || i == 5 || i == 7;
    V index = LLVMConstInt(e->i64, (unsigned)i, 0);
    V at = LLVMBuildGEP2(e->b, e->i64, product, &index, 1, "");
    V x = LLVMBuildLoad2(e->b, pointer ? e->ptr : e->i64, at, "");
    return pointer ? x : LLVMBuildTrunc(e->b, x, e->i32, "");
}

static void call_sgemm(Emit *e, V product) {
    enum { WORDS = 14 };
    V from[MEMBERS];
    LLVMTypeRef types[WORDS];
    for (int i = 0; i < MEMBERS; i++)
        from[i] = blas_calls_member(e, product, i);
    V how = from[MEMBERS - 1];
    V one = LLVMConstReal(e->f32, 1), zero = LLVMConstReal(e->f32, 0);
    V beta = LLVMBuildSelect(e->b, is_set(e, how, ADDED), one, zero, "");
    V words[WORDS] = { blas_calls_number(e, ROW_MAJOR),
                       layout(e, how, LEFT_TRANSPOSED),
                       layout(e, how, RIGHT_TRANSPOSED),
                       from[0],
                       from[1],
                       from[2],
                       one,
                       from[3],
                       from[4],
                       from[5],
                       from[6],
                       beta,
                       from[7],
                       from[8] };
    for (int i = 0; i < WORDS; i++)
        types[i] = LLVMTypeOf(words[i]);
    call(e, "cblas_sgemm", e->void_, types, words, WORDS);
}

static void define_product(Emit *e, bool calls) {
    V fn = begin_function(e, "k_sgemm", LLVMFunctionType(e->void_, &e->ptr, 1, 0));
    if (calls) call_sgemm(e, LLVMGetParam(fn, 0));
    LLVMBuildRetVoid(e->b);
}

/* One thread, whatever the environment says, and a build that several may call. */
static void define_open(Emit *e, bool calls) {
    begin_function(e, "k_blas_open", LLVMFunctionType(e->i32, NULL, 0, 0));
    V one = blas_calls_number(e, 1), fits = one;
    if (calls) {
        call(e, "openblas_set_num_threads", e->void_, &e->i32, &one, 1);
        V kind = call(e, "openblas_get_parallel", e->i32, NULL, NULL, 0);
        fits = LLVMBuildICmp(e->b, LLVMIntEQ, kind, blas_calls_number(e, PARALLEL_THREADS), "");
        fits = LLVMBuildZExt(e->b, fits, e->i32, "");
    }
    LLVMBuildRet(e->b, fits);
}

/* For libstrata, which asks for them weakly (runtime/commands/standalone.c). */
static const char *const blas_calls_told[][2] = {
    { "strata_openblas_config", "openblas_get_config" },
    { "strata_openblas_core", "openblas_get_corename" },
};
enum { TOLD = sizeof blas_calls_told / sizeof *blas_calls_told };

static void define_told(Emit *e) {
    for (int i = 0; i < TOLD; i++) {
        begin_function(e, blas_calls_told[i][0], LLVMFunctionType(e->ptr, NULL, 0, 0));
        LLVMBuildRet(e->b, call(e, blas_calls_told[i][1], e->ptr, NULL, NULL, 0));
    }
}

void define_blas(Emit *e, bool calls, bool main) {
    define_product(e, calls);
    define_open(e, calls);
    if (calls && main) define_told(e);
}

bool is_blas_name(const char *name) {
    for (int i = 0; i < TOLD; i++)
        if (!strcmp(name, blas_calls_told[i][0])) return true;
    return false;
}
