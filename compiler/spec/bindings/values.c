/* SPDX-License-Identifier: MIT
** Constants, and powers of tensors: primitives for which Lua has an operator.
*/
#include <math.h>

#include "front.h"

/* The shape is argument 'arg' of 'what'. */
static int constant(lua_State *L, const char *what, int arg, double value) {
    Shape s;
    Front *f = front(L);
    int64_t count = 1;
    tensor_list_shape(L, arg, what, &s);
    for (int i = 0; i < s.rank; i++)
        if (s.dim[i] < 1)
            spec_fail(L, "%s: expected sizes of at least 1, found %I", what, (LUAI_UACINT)s.dim[i]);
        else if (!checked_size(count, s.dim[i], &count))
            spec_fail(L, "%s: expected fewer than 2^48 elements, found more", what);
    f->g->loc = spec_here(L);
    return tensor_push(L, op_full(f->g, &s, value));
}

int values_fill(lua_State *L) { return constant(L, "fill", 2, luaL_checknumber(L, 1)); }

int values_zeros(lua_State *L) { return constant(L, "zeros", 1, 0); }

static Node *pointwise(lua_State *L, Op op, Node *a, Node *b) {
    return tensor_build(L, op, b ? 2 : 1, (Node *[]){ a, b }, (Attr){ 0 });
}

/* By squares, so that a power of 64 is six products. */
static Node *whole_power(lua_State *L, Node *x, int n) {
    Node *result = NULL;
    for (; n > 0; n /= 2) {
        if (n % 2) result = result ? pointwise(L, OP_mul, result, x) : x;
        if (n > 1) x = pointwise(L, OP_mul, x, x);
    }
    return result;
}

/* Whole numbers and halves of them at most; others of what is above 0 by exp and log. */
int values_power(lua_State *L) {
    enum { MOST = 64 };
    if (lua_type(L, 2) != LUA_TNUMBER)
        spec_fail(L, "^: expected a tensor and a number, found %s as its exponent",
                  luaL_tolstring(L, 2, NULL));
    Node *x = tensor_get(L, 1, "^");
    double power = lua_tonumber(L, 2), size = fabs(power);
    if (size == 0) return tensor_push(L, op_full(x->g, &x->shape, 1));
    if (size == 0.5) return tensor_push(L, pointwise(L, power > 0 ? OP_sqrt : OP_rsqrt, x, NULL));
    if (size > MOST || size != floor(size)) {
        Node *scaled = pointwise(L, OP_mul, pointwise(L, OP_log, x, NULL), op_fill(x->g, power));
        return tensor_push(L, pointwise(L, OP_exp, scaled, NULL));
    }
    Node *y = whole_power(L, x, (int)size);
    return tensor_push(L, power > 0 ? y : pointwise(L, OP_div, op_fill(x->g, 1), y));
}
