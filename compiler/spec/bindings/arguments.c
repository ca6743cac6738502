/* SPDX-License-Identifier: MIT
** Reads the arguments that Lua code passes to a primitive (numbers, axes, lists, tables of
** options), and reports in one line what is wrong with them.
*/
#include "arguments.h"

#include <math.h>

int64_t argument_integer(lua_State *L, int arg, const char *what, const char *name) {
    int ok;
    lua_Integer value = lua_tointegerx(L, arg, &ok);
    if (!ok || lua_type(L, arg) != LUA_TNUMBER)
        spec_fail(L, "%s: expected an integer as %s, found %s", what, name,
                  luaL_tolstring(L, arg, NULL));
    return value;
}

/* From 0; absent: the last one. */
int argument_axis(lua_State *L, int arg, const char *what, int rank) {
    int64_t axis = lua_isnoneornil(L, arg) ? -1 : argument_integer(L, arg, what, "axis");
    if (axis < 0) axis += rank + 1;
    if (axis < 1 || axis > rank) {
        if (!rank) spec_fail(L, "%s: expected a tensor with an axis, found one without", what);
        spec_fail(L, "%s: expected an axis from 1 to %d or from -%d to -1, found %s", what, rank,
                  rank, lua_isnoneornil(L, arg) ? "none" : luaL_tolstring(L, arg, NULL));
    }
    return (int)axis - 1;
}

/* The tensors of a list, in an array that belongs to the Lua stack. */
Node **argument_nodes(lua_State *L, int arg, const char *what, int *count) {
    int64_t n = tensor_list_length(L, arg, what);
    if (!n) spec_fail(L, "%s: expected at least one tensor, found an empty list", what);
    Node **in = lua_newuserdatauv(L, (size_t)n * sizeof *in, 0);
    for (int64_t i = 0; i < n; i++) {
        int type = lua_rawgeti(L, arg, i + 1);
        if (type == LUA_TNIL)
            spec_fail(L, "%s: expected a tensor at place %d, found %s", what, (int)i + 1,
                      tensor_nothing(L));
        if (type != LUA_TNUMBER && !tensor_at(L, -1))
            spec_fail(L, "%s: expected a list of tensors, found a %s at place %d", what,
                      luaL_typename(L, -1), (int)i + 1);
        in[i] = tensor_get(L, lua_gettop(L), what);
        lua_pop(L, 1);
    }
    *count = (int)n;
    return in;
}

/* An option of the table at 'arg', pushed; false if there is none. */
bool option_find(lua_State *L, int arg, const char *name) {
    if (!lua_istable(L, arg)) return false;
    lua_pushstring(L, name);
    return lua_rawget(L, arg) != LUA_TNIL;
}

static _Noreturn void refuse_option(lua_State *L, const char *what, const char *const *names) {
    lua_pushstring(L, "");
    for (int i = 0; names[i]; i++)
        lua_pushfstring(L, "%s%s%s", lua_tostring(L, -1),
                        !i ? ""
                            : names[i + 1] ? ", "
                                           : " and ",
                        names[i]);
    spec_fail(L, "%s: expected the options %s only, found another", what, lua_tostring(L, -1));
}

/* 'names': those there are, NULL at the end. */
void options_check(lua_State *L, int arg, const char *what, const char *const *names) {
    if (lua_isnoneornil(L, arg)) return;
    if (!lua_istable(L, arg))
        spec_fail(L, "%s: expected a table of options as argument %d, found a %s", what, arg,
                  luaL_typename(L, arg));
    int known = 0, n = 0;
    for (int i = 0; names[i]; i++, lua_pop(L, 1))
        known += option_find(L, arg, names[i]);
    for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1))
        n++;
    if (n > known) refuse_option(L, what, names);
}

double option_number(lua_State *L, int arg, const char *what, const char *name, double otherwise) {
    if (!option_find(L, arg, name)) return otherwise;
    if (lua_type(L, -1) != LUA_TNUMBER || !isfinite(lua_tonumber(L, -1)))
        spec_fail(L, "%s: expected %s to be a finite number, found %s", what, name,
                  luaL_tolstring(L, -1, NULL));
    return lua_tonumber(L, -1);
}

bool option_boolean(lua_State *L, int arg, const char *what, const char *name, bool otherwise) {
    if (!option_find(L, arg, name)) return otherwise;
    if (!lua_isboolean(L, -1))
        spec_fail(L, "%s: expected %s to be true or false, found %s", what, name,
                  luaL_tolstring(L, -1, NULL));
    return lua_toboolean(L, -1);
}
