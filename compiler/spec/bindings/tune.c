/* SPDX-License-Identifier: MIT
** How parameters are trained: matches the patterns of the library's train.lua with parameter
** names, and stores the decisions.
*/
#include "bindings.h"
#include "wildcard.h"

#include <string.h>

enum { MAXPATTERN = 256 };

static const char *pattern_checked(lua_State *L, int arg) {
    size_t n;
    const char *s = luaL_checklstring(L, arg, &n);
    if (n > MAXPATTERN || strlen(s) != n)
        spec_fail(L, "expected a pattern of at most %d bytes, none of them 0, found one of %I",
                  MAXPATTERN, (LUAI_UACINT)n);
    return s;
}

int tune_call_matches(lua_State *L) {
    lua_pushboolean(L, wildcard_matches(pattern_checked(L, 1), luaL_checkstring(L, 2)));
    return 1;
}

int tune_call_matching(lua_State *L) {
    const Graph *g = front(L)->g;
    const char *pattern = pattern_checked(L, 1);
    lua_Integer n = 0;
    sandbox_charge(L, g->nparam);
    lua_newtable(L);
    for (int i = 0; i < g->nparam; i++) {
        if (!wildcard_matches(pattern, g->param[i].node->attr->name)) continue;
        lua_pushinteger(L, i + 1);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

int tune_call_parameters(lua_State *L) {
    const Graph *g = front(L)->g;
    sandbox_charge(L, g->nparam);
    lua_createtable(L, g->nparam, 0);
    for (int i = 0; i < g->nparam; i++) {
        const Node *n = g->param[i].node;
        lua_createtable(L, 0, 3);
        lua_pushstring(L, n->attr->name);
        lua_setfield(L, -2, "name");
        lua_pushinteger(L, param_tensor_shape(n).rank);
        lua_setfield(L, -2, "rank");
        lua_pushboolean(L, n->attr->buffer);
        lua_setfield(L, -2, "buffer");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

int tune_call(lua_State *L) {
    Graph *g = front(L)->g;
    lua_Integer i = luaL_checkinteger(L, 1);
    luaL_argcheck(L, i >= 1 && i <= g->nparam, 1, "expected a parameter's number");
    Tuning t = { .frozen = lua_toboolean(L, 2),
                 .muon = lua_toboolean(L, 3),
                 .own_rate = lua_isnumber(L, 4),
                 .own_decay = lua_isnumber(L, 5) };
    if (t.own_rate) t.rate = lua_tonumber(L, 4);
    if (t.own_decay) t.weight_decay = lua_tonumber(L, 5);
    g->param[i - 1].tuning = t;
    return 0;
}
