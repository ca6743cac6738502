/* SPDX-License-Identifier: MIT
** The Lua function recurrence: operands and options.
*/
#include "arguments.h"
#include "bindings.h"

/* x as rows of v's tokens, one number for each of its heads or, if x has some for channels, dk;
** what does not fit is left to the op's shape rule. */
static Node *by_heads(lua_State *L, Node *x, const Node *v, int64_t dk) {
    Shape s = v->shape, inner = x->shape;
    if (v->shape.rank != 2) return x;
    if (inner.rank == 2 && inner.dim[1] == 1) {
        inner.rank = 1;
        x = tensor_build(L, OP_reshape, 1, &x, (Attr){ .shape = inner });
    }
    s.rank = inner.rank == 2 && dk ? 2 : 1;
    s.dim[1] = s.rank == 2 ? dk : 0;
    if (x->shape.lead == LEAD_TOKENS && x->shape.rank == s.rank && x->shape.dim[0] == s.dim[0])
        return x;
    Shape both;
    if (shape_broadcast(&x->shape, &s, &both) || !shape_equal(&both, &s)) return x;
    Node *in[] = { x, op_full(x->g, &s, 1) };
    return tensor_build(L, OP_mul, 2, in, (Attr){ 0 });
}

/* The option of the table at 4, a tensor or a number; NULL: there is none. */
static Node *factor(lua_State *L, const char *name, const Node *v, int64_t dk) {
    if (!option_find(L, 4, name)) return NULL;
    Node **p = tensor_at(L, -1);
    if (!p && lua_type(L, -1) != LUA_TNUMBER)
        spec_fail(L, "recurrence: expected %s to be a tensor or a number, found a %s", name,
                  luaL_typename(L, -1));
    return by_heads(L, tensor_get(L, lua_gettop(L), "recurrence"), v, dk);
}

/* recurrence(q, k, v, { decay =, delta = }) */
int call_recurrence(lua_State *L) {
    Node *in[5];
    int n = 3;
    lua_settop(L, 4);
    for (int i = 0; i < n; i++)
        in[i] = tensor_get(L, i + 1, "recurrence");
    options_check(L, 4, "recurrence", (const char *const[]){ "decay", "delta", NULL });
    Node *decay = factor(L, "decay", in[2], in[0]->shape.rank == 2 ? in[0]->shape.dim[1] : 0),
         *delta = factor(L, "delta", in[2], 0);
    if (decay) in[n++] = decay;
    if (delta) in[n++] = delta;
    return tensor_push(L, tensor_build(L, OP_recurrence, n, in, (Attr){ .delta = delta }));
}
