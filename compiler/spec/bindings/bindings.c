/* SPDX-License-Identifier: MIT
** The primitives.  Every pointwise row of the op table is a Lua function automatically; the others
** have a row in 'ops_structural' that says which arguments Lua code passes.  Axes are counted from
** 1, or from the end as -1, -2, ...
*/
#include "arguments.h"
#include "bindings.h"

#include <math.h>
#include <string.h>

/* == Functions ============================================================ */

static Op op_of(lua_State *L) { return (Op)lua_tointeger(L, lua_upvalueindex(1)); }

/* A row without attributes: its operands are all that it takes. */
static int call_plain(lua_State *L) {
    Op op = op_of(L);
    int n = (int)lua_tointeger(L, lua_upvalueindex(2));
    Node *in[4];
    if (lua_gettop(L) > n)
        spec_fail(L, "%s: expected %d arguments, found %d", op_info[op].name, n, lua_gettop(L));
    for (int i = 0; i < n; i++)
        in[i] = tensor_get(L, i + 1, op_info[op].name);
    return tensor_push(L, tensor_build(L, op, n, in, (Attr){ 0 }));
}

/* Operators pass -x's operand twice. */
static int call_neg(lua_State *L) {
    Node *x = tensor_get(L, 1, "neg");
    return tensor_push(L, tensor_build(L, OP_neg, 1, &x, (Attr){ 0 }));
}

static int call_axis(lua_State *L) {
    const char *what = op_info[op_of(L)].name;
    Node *x = tensor_get(L, 1, what);
    return tensor_push(L,
                       tensor_build(L, op_of(L), 1, &x,
                                    (Attr){ .axis = argument_axis(L, 2, what, x->shape.rank) }));
}

/* mean(x, axis) = sum(x, axis) / length */
static int call_mean(lua_State *L) {
    Node *x = tensor_get(L, 1, "mean");
    int axis = argument_axis(L, 2, "mean", x->shape.rank);
    Node *sum = tensor_build(L, OP_sum, 1, &x, (Attr){ .axis = axis });
    Node *in[] = { sum, op_fill(x->g, 1 / (double)x->shape.dim[axis]) };
    return tensor_push(L, tensor_build(L, OP_mul, 2, in, (Attr){ 0 }));
}

static int call_reshape(lua_State *L) {
    Attr attr = { 0 };
    Node *x = tensor_get(L, 1, "reshape");
    tensor_list_shape(L, 2, "reshape", &attr.shape);
    bool same = x->shape.rank == attr.shape.rank;
    for (int i = 0; same && i < x->shape.rank; i++)
        same = x->shape.dim[i] == attr.shape.dim[i];
    return tensor_push(L, same ? x : tensor_build(L, OP_reshape, 1, &x, attr));
}

static int call_transpose(lua_State *L) {
    Attr attr = { 0 };
    Shape order;
    Node *x = tensor_get(L, 1, "transpose");
    tensor_list_shape(L, 2, "transpose", &order);
    if (order.rank != x->shape.rank)
        spec_fail(L, "transpose: expected an order of %d axes, found %d", x->shape.rank,
                  order.rank);
    for (int i = 0; i < order.rank; i++) {
        if (order.dim[i] < 1 || order.dim[i] > order.rank)
            spec_fail(L, "transpose: expected axes from 1 to %d, found %I", order.rank,
                      (LUAI_UACINT)order.dim[i]);
        attr.perm[i] = (int)order.dim[i] - 1;
    }
    return tensor_push(L, tensor_build(L, OP_transpose, 1, &x, attr));
}

static int call_slice(lua_State *L) {
    Node *x = tensor_get(L, 1, "slice");
    int axis = argument_axis(L, 2, "slice", x->shape.rank);
    int64_t first = argument_integer(L, 3, "slice", "the first element");
    int64_t count = argument_integer(L, 4, "slice", "the count");
    int64_t length = x->shape.dim[axis];
    if (count < 1 || first < 1 || first > length || count > length - first + 1)
        spec_fail(L, "slice: expected elements from 1 to %I, found %I from %I on",
                  (LUAI_UACINT)length, (LUAI_UACINT)count, (LUAI_UACINT)first);
    if (count == length) return tensor_push(L, x);
    return tensor_push(L,
                       tensor_build(L, OP_slice, 1, &x,
                                    (Attr){ .axis = axis, .first = first - 1, .count = count }));
}

static int call_concat(lua_State *L) {
    int n;
    lua_settop(L, 2);
    Node **in = argument_nodes(L, 1, "concat", &n);
    int axis = argument_axis(L, 2, "concat", in[0]->shape.rank);
    return tensor_push(L,
                       n == 1 ? in[0] : tensor_build(L, OP_concat, n, in, (Attr){ .axis = axis }));
}

static int call_stack(lua_State *L) {
    int n;
    Node **in = argument_nodes(L, 1, "stack", &n);
    return tensor_push(L, tensor_build(L, OP_stack, n, in, (Attr){ 0 }));
}

/* random(n, { of = x }): n numbers for each token that x has a row for; each call has its own. */
static int call_random(lua_State *L) {
    lua_settop(L, 2);
    int64_t n = argument_integer(L, 1, "random", "how many numbers a token has");
    options_check(L, 2, "random", (const char *const[]){ "of", NULL });
    return tensor_push(
        L,
        lists_like(L, 2, "random",
                   tensor_build(L, OP_random, 0, NULL,
                                (Attr){ .first = front(L)->streams++, .count = n })));
}

/* embed(w, ids, { of = x }): rows of w for each token that x has a row for. */
static int call_embed(lua_State *L) {
    lua_settop(L, 3);
    Node *in[] = { tensor_get(L, 1, "embed"), tensor_get(L, 2, "embed") };
    options_check(L, 3, "embed", (const char *const[]){ "of", NULL });
    bool some = in[1]->op == OP_gather && option_find(L, 3, "of");
    if (some) in[1] = in[1]->in[0]; /* of says which */
    return tensor_push(L, lists_like(L, 3, "embed", tensor_build(L, OP_embed, 2, in, (Attr){ 0 })));
}

/* shift(x, tokens): of earlier tokens only, those that a sequence has when it grows. */
static int call_shift(lua_State *L) {
    lua_settop(L, 2);
    Node *x = tensor_get(L, 1, "shift");
    int64_t n = argument_integer(L, 2, "shift", "the number of tokens");
    if (n < 0 || n > INT32_MAX)
        spec_fail(L, "shift: expected a number of tokens from 0 to %d, found %I", INT32_MAX,
                  (LUAI_UACINT)n);
    Attr attr = { .count = n, .causal = true };
    return tensor_push(L, n ? tensor_build(L, OP_shift, 1, &x, attr) : x);
}

static int call_sinkhorn(lua_State *L) {
    Node *x = tensor_get(L, 1, "sinkhorn");
    Attr attr = { .count = argument_integer(L, 2, "sinkhorn", "the number of iterations") };
    lua_settop(L, 3);
    options_check(L, 3, "sinkhorn", (const char *const[]){ "eps", NULL });
    attr.value = option_number(L, 3, "sinkhorn", "eps", 0);
    return tensor_push(L, tensor_build(L, OP_sinkhorn, 1, &x, attr));
}

/* wave({ radians per position, ... }, { sine = , scale = , of = }) */
static int call_wave(lua_State *L) {
    lua_settop(L, 2);
    int64_t n = tensor_list_length(L, 1, "wave");
    if (!n) spec_fail(L, "wave: expected at least one frequency, found an empty list");
    double *frequency = lua_newuserdatauv(L, (size_t)n * sizeof *frequency, 0);
    for (int64_t i = 0; i < n; i++) {
        if (lua_rawgeti(L, 1, i + 1) != LUA_TNUMBER || !isfinite(lua_tonumber(L, -1)))
            spec_fail(L, "wave: expected frequencies that are finite numbers, found %s",
                      luaL_tolstring(L, -1, NULL));
        frequency[i] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    options_check(L, 2, "wave", (const char *const[]){ "sine", "scale", "of", NULL });
    Attr attr = { .count = n, .frequency = frequency };
    attr.sine = option_boolean(L, 2, "wave", "sine", false);
    attr.value = option_number(L, 2, "wave", "scale", 1);
    Node *position = lists_like(L, 2, "wave", op_source(front(L)->g, OP_position));
    return tensor_push(L, tensor_build(L, OP_wave, 1, &position, attr));
}

/* linear_each(x, w, { first = 1, count = all after it, back = false }) */
static int call_each(lua_State *L) {
    lua_settop(L, 3);
    Node *in[] = { tensor_get(L, 1, "linear_each"), tensor_get(L, 2, "linear_each") };
    options_check(L, 3, "linear_each", (const char *const[]){ "first", "count", "back", NULL });
    int64_t rows = in[1]->shape.rank == 3 ? in[1]->shape.dim[1] : 1, first = 1;
    if (option_find(L, 3, "first"))
        first = argument_integer(L, lua_gettop(L), "linear_each", "first");
    int64_t count = rows - first + 1;
    if (option_find(L, 3, "count"))
        count = argument_integer(L, lua_gettop(L), "linear_each", "count");
    if (first < 1 || first > rows || count < 1 || count > rows - first + 1)
        spec_fail(L, "linear_each: expected rows from 1 to %I, found %I from %I on",
                  (LUAI_UACINT)rows, (LUAI_UACINT)count, (LUAI_UACINT)first);
    Attr attr = { .first = first - 1, .count = count };
    attr.back = option_boolean(L, 3, "linear_each", "back", false);
    return tensor_push(L, tensor_build(L, OP_linear_each, 2, in, attr));
}

/* Lua's select(n, ...) too: that one's first argument is never a tensor. */
static int call_select(lua_State *L) {
    if (tensor_at(L, 1)) return call_plain(L);
    int n = lua_gettop(L);
    if (lua_type(L, 1) == LUA_TSTRING && !strcmp(lua_tostring(L, 1), "#")) {
        lua_pushinteger(L, n - 1);
        return 1;
    }
    int64_t i = argument_integer(L, 1, "select", "argument 1");
    if (i < 0) i += n;
    if (i < 1)
        spec_fail(L, "select: expected a place from 1 on, or from -1 back, found %s",
                  luaL_tolstring(L, 1, NULL));
    return i >= n ? 0 : n - (int)i;
}

static int call_source(lua_State *L) {
    return tensor_push(L, tensor_build(L, op_of(L), 0, NULL, (Attr){ 0 }));
}

/* tokens(), position(): of the tokens that are worked on */
static int call_ids(lua_State *L) {
    Node *all = tensor_build(L, op_of(L), 0, NULL, (Attr){ 0 });
    return tensor_push(L, lists_worked_on(L, all));
}

/* == The table ============================================================ */

const Structural ops_structural[] = {
    { OP_reshape, "reshape", call_reshape, "reshape(x, {n, ...})", 0 },
    { OP_transpose, "transpose", call_transpose, "transpose(x, {axis, ...})", 0 },
    { OP_slice, "slice", call_slice, "slice(x, axis, first, count)", 0 },
    { OP_concat, "concat", call_concat, "concat({x, ...}, axis)", 0 },
    { OP_stack, "stack", call_stack, "stack {x, ...}", 0 },
    { OP_sum, "sum", call_axis, "sum(x, axis)", 0 },
    { OP_sum, "mean", call_mean, "mean(x, axis)", 0 },
    { OP_peak, "peak", call_axis, "peak(x, axis)", 0 },
    { OP_softmax, "softmax", call_axis, "softmax(x, axis)", 0 },
    { OP_sinkhorn, "sinkhorn", call_sinkhorn, "sinkhorn(x, iterations, {eps =})", 0 },
    { OP_wave, "wave", call_wave, "wave({frequency, ...}, {sine =, scale =, of =})", 0 },
    { OP_linear, "linear", call_plain, "linear(x, w)", 2 },
    { OP_linear_each, "linear_each", call_each, "linear_each(x, w, {first =, count =, back =})",
      0 },
    { OP_embed, "embed", call_embed, "embed(w, ids, {of =})", 0 },
    { OP_attention, "attention", call_attention,
      "attention(q, k, v, {causal =, scale =, chunk =, pools =, window =, softcap =, by_distance "
      "=})",
      0 },
    { OP_attention, "attention_lse", call_attention_lse, "attention_lse(q, k, v, {...})", 0 },
    { OP_conv, "conv", call_plain, "conv(x, w)", 2 },
    { OP_shift, "shift", call_shift, "shift(x, tokens)", 0 },
    { OP_recurrence, "recurrence", call_recurrence, "recurrence(q, k, v, {decay =, delta =})", 0 },
    { OP_rows, "rows", lists_call_rows, "rows(mask)", 0 },
    { OP_random, "random", call_random, "random(n, {of =})", 0 },
    { OP_top, "top", choice_call_top, "top(x, share)", 0 },
    { OP_largest, "largest", choice_call, "largest(x, k)", 0 },
    { OP_chosen, "chosen", choice_call, "chosen(mask, k)", 0 },
    { OP_pick, "pick", call_plain, "pick(x, places)", 2 },
    { OP_place, "place", call_plain, "place(y, places)", 2 },
    { OP_expert_linear, "expert_linear", choice_call_expert, "expert_linear(x, w, places)", 0 },
    { OP_gather, "gather", call_plain, "gather(x, rows)", 2 },
    { OP_scatter, "scatter", call_plain, "scatter(y, rows)", 2 },
    { OP_cross_entropy, "cross_entropy", call_plain, "cross_entropy(logits, ids)", 2 },
    { OP_token_sum, "token_sum", call_plain, "token_sum(x)", 1 },
    { OP_tokens, "tokens", call_ids, "tokens()", 0 },
    { OP_position, "position", call_ids, "position()", 0 },
    { OP_per_token, "per_token", call_source, "per_token()", 0 },
    { OP_generating, "generating", call_source, "generating()", 0 },
    { OP_training, "training", call_source, "training()", 0 },
    { OP_decoding, "decoding", call_source, "decoding()", 0 },
    { OP_sampling, "sampling", call_source, "sampling()", 0 },
};
const int ops_count = sizeof ops_structural / sizeof *ops_structural;

static void push_function(lua_State *L, lua_CFunction f, Op op, int arity) {
    lua_pushinteger(L, op);
    lua_pushinteger(L, arity);
    lua_pushcclosure(L, f, 2);
}

static void set_operators(lua_State *L) {
    static const struct {
        const char *event;
        Op op;
    } operator[] = {
        { "__add", OP_add }, { "__sub", OP_sub }, { "__mul", OP_mul }, { "__div", OP_div }
    };
    luaL_getmetatable(L, "tensor");
    for (size_t i = 0; i < sizeof operator / sizeof *operator; i++) {
        push_function(L, call_plain, operator[i].op, 2);
        lua_setfield(L, -2, operator[i].event);
    }
    luaL_setfuncs(L, (luaL_Reg[]){ { "__unm", call_neg }, { "__pow", values_power }, { 0 } }, 0);
    lua_pop(L, 1);
}

void ops_open(lua_State *L) {
    set_operators(L);
    lua_newtable(L);
    for (Op op = 0; op < NOP; op++) {
        if (!op_is_function((Op)op)) continue;
        push_function(L, op == OP_select ? call_select : call_plain, op, op_info[op].arity);
        lua_setfield(L, -2, op_info[op].name);
    }
    for (int i = 0; i < ops_count; i++) {
        push_function(L, ops_structural[i].call, ops_structural[i].op, ops_structural[i].arity);
        lua_setfield(L, -2, ops_structural[i].name);
    }
}

/* The loss needs the targets; a spec does not. */
void ops_targets(lua_State *L) { push_function(L, call_source, OP_targets, 0); }
