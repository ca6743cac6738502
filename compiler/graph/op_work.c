/* SPDX-License-Identifier: MIT
** What operations cost, from the rows of ops.def. */
#include "op.h"
#include "recurrence.h"

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
