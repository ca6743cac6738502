/* SPDX-License-Identifier: MIT
** Primitives that choose among a token's own numbers, and the products of experts that use the
** choice.
*/
#include "arguments.h"
#include "bindings.h"

/* f(x, k) */
int choice_call(lua_State *L) {
    Op op = (Op)lua_tointeger(L, lua_upvalueindex(1));
    const char *what = op_info[op].name;
    Node *x = tensor_get(L, 1, what);
    Attr attr = { .count = argument_integer(L, 2, what, "how many") };
    return tensor_push(L, tensor_build(L, op, 1, &x, attr));
}

/* expert_linear(x, w, places): the lists are those of the places, which are interned */
int choice_call_expert(lua_State *L) {
    Node *in[4], *places = tensor_get(L, 3, "expert_linear");
    in[0] = tensor_get(L, 1, "expert_linear");
    in[1] = tensor_get(L, 2, "expert_linear");
    in[2] = tensor_build(L, OP_expert_lists, 1, &places, (Attr){ 0 });
    in[3] = tensor_build(L, OP_side, 1, &in[2], (Attr){ .first = 1 });
    Attr attr = { .count = in[3]->shape.dim[0] - 1 };
    return tensor_push(L, tensor_build(L, OP_expert_linear, 4, in, attr));
}

/* top(x, share) */
int choice_call_top(lua_State *L) {
    Node *x = tensor_get(L, 1, "top");
    if (lua_type(L, 2) != LUA_TNUMBER)
        spec_fail(L, "top: expected a share of the tokens, a number, as argument 2, found %s",
                  luaL_tolstring(L, 2, NULL));
    return tensor_push(L, tensor_build(L, OP_top, 1, &x, (Attr){ .value = lua_tonumber(L, 2) }));
}
