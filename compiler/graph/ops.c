/* SPDX-License-Identifier: MIT
** The op table, generated from ops.def: the rows' functions are in ops_*.c.
*/
#include "op.h"
#include "recurrence.h"

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

static double ops_elements(const Node *n) { return (double)shape_count(&n->shape); }

double op_flops(const Node *n) {
    double own = ops_elements(n), in = n->nin > 0 ? ops_elements(n->in[0]) : 0,
           weight = n->nin > 1 ? ops_elements(n->in[1]) : 0, count = (double)n->attr->count,
           taps = (double)op_taps(n), slots = n->nin > 2 ? ops_elements(n->in[2]) : 0;
    switch (n->op) {
#define OP1(name, ...) \
    case OP_##name: return own;
#define OP2(name, ...) \
    case OP_##name: return own;
#define OP3(name, ...) \
    case OP_##name: return own;
#define OP(name, arity, results, class, attr, rows, result, flops, again, help) \
    case OP_##name: return flops;
#include "ops.def"
    default: bug(n, "there is no op %d", (int)n->op);
    }
}

double op_again(const Node *n) {
    double own = ops_elements(n), in = n->nin > 0 ? ops_elements(n->in[0]) : 0,
           count = (double)n->attr->count;
    switch (n->op) {
#define OP1(name, ...)
#define OP2(name, ...)
#define OP3(name, ...)
#define OP(name, arity, results, class, attr, rows, result, flops, again, help) \
    case OP_##name: return again;
#include "ops.def"
    default: return own * op_info[n->op].again;
    }
}

double op_operations(const Node *n) {
    double again = op_again(n);
    return again > 0 ? again : op_flops(n);
}
