/* SPDX-License-Identifier: MIT
** The LLVM builder behind emit.h.  No operation carries fast-math flags: every sum is computed in
** the order in which it is written, and only e_fma fuses a multiply-add.
*/
#include "emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* == Integers ============================================================= */

V e_i64(Emit *e, int64_t x) { return LLVMConstInt(e->i64, (unsigned long long)x, 1); }

bool e_is_constant(V x, int64_t *value) {
    if (!LLVMIsAConstantInt(x)) return false;
    *value = LLVMConstIntGetSExtValue(x);
    return true;
}

V e_iadd(Emit *e, V a, V b) {
    int64_t k;
    if (e_is_constant(a, &k) && k == 0) return b;
    if (e_is_constant(b, &k) && k == 0) return a;
    return LLVMBuildNSWAdd(e->b, a, b, "");
}

V e_isub(Emit *e, V a, V b) { return LLVMBuildNSWSub(e->b, a, b, ""); }

V e_imul(Emit *e, V a, V b) {
    int64_t k;
    if (e_is_constant(a, &k) && k == 1) return b;
    if (e_is_constant(b, &k) && k == 1) return a;
    return LLVMBuildNSWMul(e->b, a, b, "");
}

V e_ilt(Emit *e, V a, V b) { return LLVMBuildICmp(e->b, LLVMIntSLT, a, b, ""); }
V e_imin(Emit *e, V a, V b) { return LLVMBuildSelect(e->b, e_ilt(e, a, b), a, b, ""); }
V e_idiv(Emit *e, V a, int64_t by) { return LLVMBuildExactSDiv(e->b, a, e_i64(e, by), ""); }

/* == Memory =============================================================== */

V e_at(Emit *e, V base, V index) {
    int64_t k;
    if (e_is_constant(index, &k) && k == 0) return base;
    return LLVMBuildGEP2(e->b, e->f32, base, &index, 1, "");
}

V e_pointer(Emit *e, V table, int64_t index) {
    V i = e_i64(e, index);
    V at = LLVMBuildGEP2(e->b, e->ptr, table, &i, 1, "");
    return LLVMBuildLoad2(e->b, e->ptr, at, "");
}

V e_pointer_at(Emit *e, V table, V index) {
    V at = LLVMBuildGEP2(e->b, e->ptr, table, &index, 1, "");
    V p = LLVMBuildLoad2(e->b, e->ptr, at, "");
    unsigned kind = LLVMGetMDKindIDInContext(e->ctx, "invariant.load", 14);
    LLVMSetMetadata(p, kind, LLVMMetadataAsValue(e->ctx, LLVMMDNodeInContext2(e->ctx, NULL, 0)));
    return p;
}

V e_number(Emit *e, V pointer) { return LLVMBuildPtrToInt(e->b, pointer, e->i64, ""); }

V e_number_f32(Emit *e, V pointer) {
    V bits = LLVMBuildPtrToInt(e->b, pointer, e->i32, "");
    return LLVMBuildBitCast(e->b, bits, e->f32, "");
}

V e_load(Emit *e, V address, int lanes) {
    LLVMTypeRef type = lanes == 1 ? e->f32 : LLVMVectorType(e->f32, (unsigned)lanes);
    V x = LLVMBuildLoad2(e->b, type, address, "");
    LLVMSetAlignment(x, 4);
    return x;
}

void e_store(Emit *e, V address, V value) {
    LLVMSetAlignment(LLVMBuildStore(e->b, value, address), 4);
}

/* A float's bits, or those of every lane. */
static V words(Emit *e, V x) {
    int n = e_lanes(x);
    return LLVMBuildBitCast(e->b, x, n > 1 ? LLVMVectorType(e->i32, (unsigned)n) : e->i32, "");
}

static V word_splat(Emit *e, unsigned x, int lanes) {
    V one = LLVMConstInt(e->i32, x, 0), all[64];
    for (int i = 0; i < lanes; i++)
        all[i] = one;
    return lanes > 1 ? LLVMConstVector(all, (unsigned)lanes) : one;
}

V e_at_bf16(Emit *e, V base, V index) {
    return LLVMBuildGEP2(e->b, LLVMInt16TypeInContext(e->ctx), base, &index, 1, "");
}

/* bfloat16s' bits as floats. */
static V emit_widen(Emit *e, V bits, int n) {
    V wide = LLVMBuildZExt(e->b, bits, n > 1 ? LLVMVectorType(e->i32, (unsigned)n) : e->i32, "");
    V moved = LLVMBuildShl(e->b, wide, word_splat(e, 16, n), "");
    return LLVMBuildBitCast(e->b, moved, n > 1 ? LLVMVectorType(e->f32, (unsigned)n) : e->f32, "");
}

V e_load_bf16(Emit *e, V address, int lanes) {
    LLVMTypeRef i16 = LLVMInt16TypeInContext(e->ctx);
    V bits = LLVMBuildLoad2(e->b, lanes > 1 ? LLVMVectorType(i16, (unsigned)lanes) : i16, address,
                            "");
    LLVMSetAlignment(bits, 2);
    return emit_widen(e, bits, lanes);
}

void e_store_bf16(Emit *e, V address, V value) {
    int n = e_lanes(value);
    LLVMTypeRef i16 = LLVMInt16TypeInContext(e->ctx);
    LLVMTypeRef half = n > 1 ? LLVMVectorType(i16, (unsigned)n) : i16;
    V bits = LLVMBuildLShr(e->b, words(e, value), word_splat(e, 16, n), "");
    LLVMSetAlignment(LLVMBuildStore(e->b, LLVMBuildTrunc(e->b, bits, half, ""), address), 2);
}

V e_load_i32(Emit *e, V address) {
    V x = LLVMBuildLoad2(e->b, e->i32, address, "");
    return LLVMBuildSExt(e->b, x, e->i64, "");
}

/* == Lanes ================================================================ */

int e_lanes(V x) {
    LLVMTypeRef t = LLVMTypeOf(x);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(t) : 1;
}

static V i32(Emit *e, int64_t x) { return LLVMConstInt(e->i32, (unsigned long long)x, 1); }

/* Lanes first .. first+n-1 of the concatenation of a and b (b may be NULL). */
static V shuffle(Emit *e, V a, V b, int first, int n) {
    V mask[256];
    for (int i = 0; i < n; i++)
        mask[i] = i32(e, first + i);
    if (!b) b = LLVMGetUndef(LLVMTypeOf(a));
    return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(mask, (unsigned)n), "");
}

V e_splat(Emit *e, V x, int lanes) {
    if (lanes == 1 || e_lanes(x) == lanes) return x;
    V zero[256];
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(x), (unsigned)lanes);
    for (int i = 0; i < lanes; i++)
        zero[i] = i32(e, 0);
    V one = LLVMBuildInsertElement(e->b, LLVMGetUndef(type), x, i32(e, 0), "");
    return LLVMBuildShuffleVector(e->b, one, LLVMGetUndef(type),
                                  LLVMConstVector(zero, (unsigned)lanes), "");
}

V e_lane(Emit *e, V x, int lane) {
    return e_lanes(x) == 1 ? x : LLVMBuildExtractElement(e->b, x, i32(e, lane), "");
}

V e_set_lane(Emit *e, V x, V scalar, int lane) {
    return LLVMBuildInsertElement(e->b, x, scalar, i32(e, lane), "");
}

/* Halves of a register stay in one of four lanes, which is what the processor has. */
static V halve(Emit *e, V x, V (*join)(Emit *, V, V)) {
    enum { SMALLEST = 4 };
    int n = e_lanes(x);
    for (; n > SMALLEST; n /= 2)
        x = join(e, shuffle(e, x, NULL, 0, n / 2), shuffle(e, x, NULL, n / 2, n / 2));
    if (n == SMALLEST) x = join(e, x, shuffle(e, x, NULL, SMALLEST / 2, SMALLEST));
    return n == 1 ? x : join(e, e_lane(e, x, 0), e_lane(e, x, 1));
}

V e_sum_lanes(Emit *e, V x) { return halve(e, x, e_add); }
V e_max_lanes(Emit *e, V x) { return halve(e, x, e_max); }

V e_keep_lanes(Emit *e, V x, V count, V otherwise) {
    int n = e_lanes(x);
    V index[256];
    for (int i = 0; i < n; i++)
        index[i] = e_i64(e, i);
    V keep = LLVMBuildICmp(e->b, LLVMIntSLT, LLVMConstVector(index, (unsigned)n),
                           e_splat(e, count, n), "");
    return LLVMBuildSelect(e->b, keep, x, e_splat(e, otherwise, n), "");
}

/* Makes two operands the same width. */
static void emit_match(Emit *e, V *a, V *b) {
    int n = e_lanes(*a), m = e_lanes(*b);
    if (n < m) *a = e_splat(e, *a, m);
    if (m < n) *b = e_splat(e, *b, n);
}

/* == Floats =============================================================== */

V e_f32(Emit *e, double x) { return LLVMConstReal(e->f32, x); }
V e_neg(Emit *e, V x) { return LLVMBuildFNeg(e->b, x, ""); }

#define BINARY(name, Build)                      \
    V e_##name(Emit *e, V a, V b) {              \
        emit_match(e, &a, &b);                   \
        return LLVMBuild##Build(e->b, a, b, ""); \
    }
BINARY(add, FAdd)
BINARY(sub, FSub)
BINARY(mul, FMul)
BINARY(div, FDiv)
#undef BINARY

static V intrinsic(Emit *e, const char *name, int n, V *x) {
    LLVMTypeRef type = LLVMTypeOf(x[0]);
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    V f = LLVMGetIntrinsicDeclaration(e->mod, id, &type, 1);
    return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->ctx, id, &type, 1), f, x, (unsigned)n, "");
}

void e_prefetch(Emit *e, V address, int level) {
    V read = LLVMConstInt(e->i32, 0, 0), near = LLVMConstInt(e->i32, 4 - (unsigned)level, 0),
      data = LLVMConstInt(e->i32, 1, 0);
    intrinsic(e, "llvm.prefetch", 4, (V[]){ address, read, near, data });
}

V e_sqrt(Emit *e, V x) { return intrinsic(e, "llvm.sqrt", 1, &x); }
V e_abs(Emit *e, V x) { return intrinsic(e, "llvm.fabs", 1, &x); }

/* By the processor's instruction, which takes denormals as zeros. */
static V narrowed(Emit *e, V x, int n) {
    LLVMTypeRef bf16 = LLVMBFloatTypeInContext(e->ctx), i16 = LLVMInt16TypeInContext(e->ctx);
    V cut = LLVMBuildFPTrunc(e->b, x, n > 1 ? LLVMVectorType(bf16, (unsigned)n) : bf16, "");
    V bits = LLVMBuildBitCast(e->b, cut, n > 1 ? LLVMVectorType(i16, (unsigned)n) : i16, "");
    return emit_widen(e, bits, n);
}

V e_bf16(Emit *e, V x) {
    int n = e_lanes(x);
    if (e->narrows) return narrowed(e, x, n);
    V number = words(e, x);
    V one = word_splat(e, 1, n), half = word_splat(e, 0x7fff, n), sixteen = word_splat(e, 16, n);
    V odd = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, number, sixteen, ""), one, "");
    V up = LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, number, half, ""), odd, "");
    V cut = LLVMBuildAnd(e->b, up, word_splat(e, 0xffff0000u, n), "");
    /* NaN in its upper half too */
    V quiet = LLVMBuildOr(e->b, number, word_splat(e, 0x400000, n), "");
    V bits = LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, LLVMRealUNO, x, x, ""), quiet, cut, "");
    return LLVMBuildBitCast(e->b, bits, LLVMTypeOf(x), "");
}

V e_rsqrt(Emit *e, V x) { return e_div(e, e_f32(e, 1), e_sqrt(e, x)); }

V e_fma(Emit *e, V a, V b, V c) {
    emit_match(e, &a, &b), emit_match(e, &a, &c), emit_match(e, &b, &c);
    if (!e->fma) return e_add(e, e_mul(e, a, b), c);
    return intrinsic(e, "llvm.fma", 3, (V[]){ a, b, c });
}

static V pick(Emit *e, LLVMRealPredicate p, V a, V b, V yes, V no) {
    emit_match(e, &a, &b), emit_match(e, &yes, &no), emit_match(e, &a, &yes), emit_match(e, &b, &a),
        emit_match(e, &no, &yes);
    return LLVMBuildSelect(e->b, LLVMBuildFCmp(e->b, p, a, b, ""), yes, no, "");
}

V e_max(Emit *e, V a, V b) { return pick(e, LLVMRealOGT, a, b, a, b); }
V e_min(Emit *e, V a, V b) { return pick(e, LLVMRealOLT, a, b, a, b); }
V e_greater(Emit *e, V a, V b) { return pick(e, LLVMRealOGT, a, b, e_f32(e, 1), e_f32(e, 0)); }
V e_relu(Emit *e, V x) { return pick(e, LLVMRealOGT, x, e_f32(e, 0), x, e_f32(e, 0)); }
V e_step(Emit *e, V x) { return e_greater(e, x, e_f32(e, 0)); }
V e_select(Emit *e, V c, V a, V b) { return pick(e, LLVMRealOGT, c, e_f32(e, 0), a, b); }

/* == The kernel library's functions ======================================= */

static LLVMTypeRef a_register(Emit *e) { return LLVMVectorType(e->f32, (unsigned)e->lanes); }

bool e_calls(const char *name) {
    static const char *const called[] = { "k_collect", "k_spread", "k_exp", "k_exp_weight",
                                          "k_log",     "k_tanh",   "k_erf", "k_sigmoid" };
    for (size_t i = 0; i < sizeof called / sizeof *called; i++)
        if (!strcmp(name, called[i])) return true;
    return false;
}

static V call(Emit *e, const char *name, LLVMTypeRef result, V *args, unsigned n) {
    LLVMTypeRef types[4];
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, n, 0);
    V f = LLVMGetNamedFunction(e->mod, name);
    if (!f) f = LLVMAddFunction(e->mod, name, type);
    return LLVMBuildCall2(e->b, type, f, args, n, "");
}

V e_collect(Emit *e, V row, V stride, V last) {
    return call(e, "k_collect", a_register(e), (V[]){ row, stride, last }, 3);
}

void e_spread(Emit *e, V row, V stride, V x) {
    call(e, "k_spread", e->void_, (V[]){ row, stride, x }, 3);
}

/* Mathematics takes one register; wider and narrower values are cut or padded. */
static V math(Emit *e, const char *name, V x) {
    int n = e_lanes(x), w = e->lanes;
    if (n == w) return call(e, name, a_register(e), &x, 1);
    if (n < w) {
        V wide = n == 1 ? e_splat(e, x, w) : shuffle(e, x, x, 0, w);
        V y = call(e, name, a_register(e), &wide, 1);
        return n == 1 ? e_lane(e, y, 0) : shuffle(e, y, NULL, 0, n);
    }
    V low = math(e, name, shuffle(e, x, NULL, 0, n / 2)),
      high = math(e, name, shuffle(e, x, NULL, n / 2, n / 2));
    return shuffle(e, low, high, 0, n);
}

V e_exp(Emit *e, V x) { return math(e, "k_exp", x); }
V e_exp_weight(Emit *e, V x) { return math(e, "k_exp_weight", x); }
V e_log(Emit *e, V x) { return math(e, "k_log", x); }
V e_tanh(Emit *e, V x) { return math(e, "k_tanh", x); }
V e_erf(Emit *e, V x) { return math(e, "k_erf", x); }
V e_sigmoid(Emit *e, V x) { return math(e, "k_sigmoid", x); }

/* log(1 + u) is u log(1 + u) / ((1 + u) - 1): what 1 + u loses of a small u cancels. */
V e_softplus(Emit *e, V x) {
    V u = e_exp(e, e_neg(e, e_abs(e, x))), one = e_f32(e, 1);
    V sum = e_add(e, u, one), rest = e_sub(e, sum, one);
    V log = e_select(e, rest, e_div(e, e_mul(e, u, e_log(e, sum)), rest), u);
    return e_add(e, e_relu(e, x), log);
}
