/* SPDX-License-Identifier: MIT
** The Lua functions attention and attention_lse: operands and options.
*/
#include "arguments.h"
#include "bindings.h"

#include <math.h>

/* A positive integer; 0: it is not given. */
static int64_t count_option(lua_State *L, const char *what, const char *name) {
    if (!option_find(L, 4, name)) return 0;
    int64_t n = argument_integer(L, lua_gettop(L), what, name);
    if (n < 1 || n > INT32_MAX)
        spec_fail(L, "%s: expected %s from 1 to %d, found %I", what, name, INT32_MAX,
                  (LUAI_UACINT)n);
    return n;
}

/* Tokens of a chunk, or how many pools: which of the two depends on 'causal'. */
static int64_t averages_option(lua_State *L, const char *what, bool causal) {
    const char *name = causal ? "chunk" : "pools", *other = causal ? "pools" : "chunk";
    if (option_find(L, 4, other))
        spec_fail(L, "%s: expected %s with causal = %s only, found it with causal = %s", what,
                  other, causal ? "false" : "true", causal ? "true" : "false");
    return count_option(L, what, name);
}

static double cap_option(lua_State *L, const char *what) {
    double cap = option_number(L, 4, what, "softcap", 0);
    if (option_find(L, 4, "softcap") && !(cap > 0))
        spec_fail(L, "%s: expected softcap to be above 0, found %s", what,
                  luaL_tolstring(L, -1, NULL));
    return cap;
}

/* Values are an operand, or so many first channels of keys. */
static Node *values_of(lua_State *L, const char *what, Node *k, int64_t *channels) {
    *channels = 0;
    if (lua_type(L, 3) != LUA_TNUMBER) return tensor_get(L, 3, what);
    int64_t most = k->shape.rank ? k->shape.dim[k->shape.rank - 1] : 0;
    *channels = argument_integer(L, 3, what, "channels of keys that are values");
    if (*channels < 1 || *channels > most)
        spec_fail(L, "%s: expected 1 to %I channels of keys as values, found %I", what,
                  (LUAI_UACINT)most, (LUAI_UACINT)*channels);
    return k;
}

/* f(q, k, v, { causal = true, scale = d^-0.5, chunk =, pools =, window =, softcap =,
** by_distance = }) */
static Node *build_attention(lua_State *L, const char *what) {
    static const char *const options[] = { "causal", "scale",   "chunk",       "pools",
                                           "window", "softcap", "by_distance", NULL };
    Node *in[4];
    int64_t values;
    lua_settop(L, 4);
    for (int i = 0; i < 2; i++)
        in[i] = tensor_get(L, i + 1, what);
    in[2] = values_of(L, what, in[1], &values);
    options_check(L, 4, what, options);
    int64_t d = in[0]->shape.rank ? in[0]->shape.dim[in[0]->shape.rank - 1] : 1;
    Attr attr = { .causal = option_boolean(L, 4, what, "causal", true) };
    attr.value = option_number(L, 4, what, "scale", 1 / sqrt((double)d));
    attr.count = averages_option(L, what, attr.causal);
    attr.window = count_option(L, what, "window");
    attr.softcap = cap_option(L, what);
    attr.values = values;
    bool distances = option_find(L, 4, "by_distance");
    if (distances) in[3] = tensor_get(L, lua_gettop(L), what);
    return tensor_build(L, OP_attention, distances ? 4 : 3, in, attr);
}

int call_attention(lua_State *L) { return tensor_push(L, build_attention(L, "attention")); }

/* Nodes are interned: beside the attention of the same operands this costs nothing. */
int call_attention_lse(lua_State *L) {
    Node *n = build_attention(L, "attention_lse");
    return tensor_push(L, tensor_build(L, OP_side, 1, &n, (Attr){ .first = 1 }));
}
