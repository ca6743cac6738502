/* SPDX-License-Identifier: MIT
** Constants, and powers of tensors: what is made of primitives where Lua has a sign for it.
*/
#include <math.h>

#include "front.h"

int values_fill(lua_State *L) {
    Shape s;
    Front *f = front(L);
    tensor_list_shape(L, 2, "fill", &s);
    f->g->loc = spec_here(L);
    return tensor_push(L, op_full(f->g, &s, luaL_checknumber(L, 1)));
}

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
