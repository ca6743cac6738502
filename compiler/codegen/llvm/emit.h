/* SPDX-License-Identifier: MIT
** The vocabulary in which kernels are written: code that uses this header reads like the loop nest
** that it generates.  Only code generation calls the LLVM API.  Values are float scalars, or
** vectors of any number of lanes; an operation on a scalar and a vector repeats the scalar.
*/
#ifndef STRATA_EMIT_H
#define STRATA_EMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <llvm-c/Core.h>

typedef LLVMValueRef V;

typedef struct Emit {
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    LLVMBuilderRef b;
    V fn;
    LLVMBasicBlockRef entry; /* variables live here */
    LLVMTypeRef f32, f64, i32, i64, i1, i8, ptr, void_;
    int lanes;           /* floats in a vector register */
    bool fma;            /* the target has fused multiply-add */
    bool narrows;        /* it has an instruction that rounds to bfloat16 */
    bool check;          /* row kernels test what they access */
    bool plain;          /* row kernels are compiled fast and not optimised */
    struct Lines *lines; /* lines.h */
} Emit;

typedef struct Loop {
    V i;
    LLVMBasicBlockRef head, exit;
    V next, to; /* NULL: it is tested before each step, else behind it */
} Loop;

/* Functions: void name(ptr p, i64 first, i64 count, ptr scratch) */
V e_function(Emit *e, const char *name, int nargs, LLVMTypeRef *args);
void e_return(Emit *e);

/* Loops nest: open, body, close.  i = from, from + step, ... while i < to */
Loop e_loop(Emit *e, V from, V to, int64_t step);
Loop e_loop_once(Emit *e, V from, V to, int64_t step); /* from < to */
void e_end(Emit *e, Loop loop);
/* if (condition) { ... } */
LLVMBasicBlockRef e_if(Emit *e, V condition);
void e_endif(Emit *e, LLVMBasicBlockRef after);

/* Where code is written, and from which line of the spec; moving the builder changes both. */
typedef struct Place {
    LLVMBasicBlockRef block;
    LLVMMetadataRef line;
} Place;
LLVMBasicBlockRef e_next_block(Emit *e); /* ends the block; returns the one in which code goes on */
/* Before what ends 'block'; returns where the builder was, at the end of a block. */
Place e_go_to_end(Emit *e, LLVMBasicBlockRef block);
void e_go_back(Emit *e, Place to);

/* Variables become registers, so that kernels never write phis */
V e_var(Emit *e, V init);
V e_get(Emit *e, V var);
void e_set(Emit *e, V var, V value);

/* Is that a function of the kernel library which row kernels call? */
bool e_calls(const char *name);

/* Integers */
V e_i64(Emit *e, int64_t x);
V e_iadd(Emit *e, V a, V b);
V e_isub(Emit *e, V a, V b);
V e_imul(Emit *e, V a, V b);
V e_imin(Emit *e, V a, V b);
V e_ilt(Emit *e, V a, V b);
V e_idiv(Emit *e, V a, int64_t by);
bool e_is_constant(V x, int64_t *value);

/* Memory; indices count floats; vectors are 4-byte aligned */
V e_at(Emit *e, V base, V index);
V e_pointer(Emit *e, V table, int64_t index); /* ((float **)table)[index] */
V e_pointer_at(Emit *e, V table, V index);    /* the same of a table that stays as it is */
V e_number(Emit *e, V pointer);               /* the number that stands where a pointer could */
V e_number_f32(Emit *e, V pointer);           /* the float whose bits do */
V e_load(Emit *e, V address, int lanes);      /* lanes 1: a scalar */
void e_store(Emit *e, V address, V value);
V e_at_bf16(Emit *e, V base, V index);          /* base + index bfloat16s */
V e_load_bf16(Emit *e, V address, int lanes);   /* bfloat16s as floats */
void e_store_bf16(Emit *e, V address, V value); /* the upper halves of floats: bfloat16s */
V e_load_i32(Emit *e, V address);               /* sign-extended to i64 */

/* Lanes */
int e_lanes(V x);
V e_splat(Emit *e, V x, int lanes);
V e_lane(Emit *e, V x, int lane);
V e_set_lane(Emit *e, V x, V scalar, int lane);
V e_sum_lanes(Emit *e, V x); /* fixed order: halves */
V e_max_lanes(Emit *e, V x);
/* a register; lane i: row[min(i, last) * stride] */
V e_collect(Emit *e, V row, V stride, V last);
void e_spread(Emit *e, V row, V stride, V x);       /* row[i * stride] = lane i of a register */
V e_keep_lanes(Emit *e, V x, V count, V otherwise); /* lanes >= count: otherwise */

/* Floats */
V e_f32(Emit *e, double x);
V e_neg(Emit *e, V x);
V e_exp(Emit *e, V x);
V e_exp_weight(Emit *e, V x); /* for x up to 0, of a softmax */
V e_log(Emit *e, V x);
/* The address's line, of no memory too, comes to the cache of that level: 1, 2. */
void e_prefetch(Emit *e, V address, int level);
V e_sqrt(Emit *e, V x);
V e_rsqrt(Emit *e, V x);
V e_tanh(Emit *e, V x);
V e_sigmoid(Emit *e, V x);
V e_erf(Emit *e, V x);
V e_relu(Emit *e, V x);
V e_softplus(Emit *e, V x);
V e_step(Emit *e, V x);
V e_abs(Emit *e, V x);
V e_bf16(Emit *e, V x); /* rounded to bfloat16: nearest, ties to even; NaN stays NaN */
V e_add(Emit *e, V a, V b);
V e_sub(Emit *e, V a, V b);
V e_mul(Emit *e, V a, V b);
V e_div(Emit *e, V a, V b);
V e_max(Emit *e, V a, V b);
V e_min(Emit *e, V a, V b);
V e_greater(Emit *e, V a, V b);
V e_select(Emit *e, V c, V a, V b);
V e_fma(Emit *e, V a, V b, V c); /* a b + c, rounded once where the target can */

#endif
