/* SPDX-License-Identifier: MIT
** The op table, generated from ops.def: the rows' functions are in ops_*.c.
*/
#include "op.h"

const OpInfo op_info[NOP] = {
#define POINTWISE_ROW(name, arity, cost, again, help)                                \
    [OP_##name] = { #name, arity, 1,    POINTWISE,       NONE,      0, RESULT_PLAIN, \
                    cost,  again, help, shape_pointwise, vjp_##name },
#define OP1(name, f64, dx, llvm, cost, again, help) POINTWISE_ROW(name, 1, cost, again, help)
#define OP2(name, f64, da, db, llvm, cost, again, help) POINTWISE_ROW(name, 2, cost, again, help)
#define OP3(name, f64, dc, da, db, llvm, cost, again, help) \
    POINTWISE_ROW(name, 3, cost, again, help)
#define OP(name, arity, results, class, attr, rows, result, flops, again, help) \
    [OP_##name] = { #name,           arity, results, class, attr,         rows, \
                    RESULT_##result, 0,     0,       help,  shape_##name, vjp_##name },
#include "ops.def"
};

EvalFn *const op_eval[NOP] = {
#define OP1(name, ...) [OP_##name] = eval_##name,
#define OP2(name, ...) [OP_##name] = eval_##name,
#define OP3(name, ...) [OP_##name] = eval_##name,
#define OP(name, ...) [OP_##name] = eval_##name,
#include "ops.def"
};
