/* SPDX-License-Identifier: MIT
** What a spec has of Lua's library: those parts that cannot see addresses, files or the order of
** hash tables; base.lua builds the rest of the subset from them.
*/
#include "front.h"

#include <lualib.h>
#include <string.h>

/* What counts as so many instructions: a call of format, an error, a number's digits. */
enum { FORMAT = 16, ERROR = 256, DIGITS = 256 };

/* == Functions that replace Lua's ========================================= */

/* As Lua's, but what limits raised goes on up. */
static int call_pcall(lua_State *L) {
    luaL_checkany(L, 1);
    int status = sandbox_call(L, lua_gettop(L) - 1, 0);
    front(L)->raised = false;
    if (status) sandbox_charge(L, ERROR);
    lua_pushboolean(L, status == LUA_OK);
    lua_insert(L, 1);
    return lua_gettop(L);
}

/* error(message, level): the message gets the user's line; level 0 as it is. */
static int call_error(lua_State *L) {
    if (lua_type(L, 1) != LUA_TSTRING) {
        lua_settop(L, 1);
        return lua_error(L);
    }
    if (lua_tointeger(L, 2) != 0 || lua_isnoneornil(L, 2)) spec_fail(L, "%s", lua_tostring(L, 1));
    lua_settop(L, 1);
    front(L)->raised = true;
    return lua_error(L);
}

/* Lua's tostring without the addresses. */
static int call_tostring(lua_State *L) {
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    if (luaL_callmeta(L, 1, "__tostring")) {
        if (lua_type(L, -1) != LUA_TSTRING) spec_fail(L, "expected __tostring to return a string");
        return 1;
    }
    switch (lua_type(L, 1)) {
    case LUA_TNUMBER: sandbox_charge(L, lua_isinteger(L, 1) ? 0 : DIGITS); /* fall through */
    case LUA_TSTRING: lua_tostring(L, 1); break;
    case LUA_TBOOLEAN: lua_pushstring(L, lua_toboolean(L, 1) ? "true" : "false"); break;
    default: lua_pushstring(L, luaL_typename(L, 1));
    }
    return 1;
}

/* string.format without %p; upvalue 1 is Lua's, which runs in this call: its messages name it. */
static int call_format(lua_State *L) {
    int n = lua_gettop(L);
    const char *fmt = luaL_checkstring(L, 1);
    sandbox_charge(L, FORMAT);
    for (const char *p = fmt; *p; p++) {
        if (*p != '%') continue;
        p++;
        while (*p && strchr("-+ #0123456789.", *p))
            p++;
        if (*p && strchr("aAeEfFgG", *p)) sandbox_charge(L, DIGITS);
        if (*p == 'p')
            spec_fail(L,
                      "format: expected one of %%a %%c %%d %%e %%f %%g %%i %%o %%q %%s %%u %%x, "
                      "found %%p");
        if (!*p) break;
    }
    for (int i = 2; i <= n; i++) {
        if (lua_type(L, i) == LUA_TNUMBER || lua_type(L, i) == LUA_TSTRING) continue;
        lua_pushcfunction(L, call_tostring);
        lua_pushvalue(L, i);
        lua_call(L, 1, 1);
        lua_replace(L, i);
    }
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* No finalizers (hooks do not count in them) and no weak tables (when they
** are emptied is not defined). */
static int call_setmetatable(lua_State *L) {
    static const char *const refused[] = { "__gc", "__mode" };
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        spec_fail(
            L,
            "setmetatable: expected a table whose metatable may be changed, found a protected one");
    for (size_t i = 0; i < sizeof refused / sizeof *refused && lua_istable(L, 2); i++) {
        lua_pushstring(L, refused[i]);
        if (lua_rawget(L, 2) != LUA_TNIL)
            spec_fail(L, "setmetatable: expected no %s, found one", refused[i]);
        lua_pop(L, 1);
    }
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

/* Strings' metatable becomes the argument: no arithmetic on strings. */
static int call_setstringmeta(lua_State *L) {
    lua_pushstring(L, "");
    lua_pushvalue(L, 1);
    lua_setmetatable(L, -2);
    return 0;
}

/* == The table given to base.lua ========================================== */

static const char *const from_base[] = { "getmetatable", "ipairs", "rawequal", "rawget", "rawlen",
                                         "rawset",       "select", "tonumber", "type",   NULL };
static const char *const from_string[] = { "byte",    "char", "len",   "lower", "rep",
                                           "reverse", "sub",  "upper", NULL };
static const char *const from_table[] = { "unpack", NULL };
static const char *const from_math[] = { "abs",  "ceil", "cos", "exp",        "floor", "fmod",
                                         "huge", "log",  "max", "maxinteger", "min",   "mininteger",
                                         "modf", "pi",   "sin", "sqrt",       "tan",   "tointeger",
                                         "type", "ult",  NULL };

static void sandbox_copy(lua_State *L, int from, int to, const char *const *names) {
    for (; *names; names++) {
        lua_getfield(L, from, *names);
        lua_setfield(L, to, *names);
    }
}

/* Leaves a table of the named functions of a library as field 'name' of 'to'. */
static void copy_library(lua_State *L, int to, const char *name, lua_CFunction open,
                         const char *const *names) {
    lua_pushcfunction(L, open);
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
    int from = lua_gettop(L);
    lua_newtable(L);
    sandbox_copy(L, from, from + 1, names);
    if (open == luaopen_string) {
        lua_getfield(L, from, "format");
        lua_pushcclosure(L, call_format, 1);
        lua_setfield(L, from + 1, "format");
    }
    lua_setfield(L, to, name);
    lua_settop(L, from - 1);
}

void sandbox_open(lua_State *L) {
    static const luaL_Reg ours[] = { { "error", call_error },
                                     { "keys", order_keys },
                                     { "next", order_next },
                                     { "pcall", call_pcall },
                                     { "setmetatable", call_setmetatable },
                                     { "setstringmeta", call_setstringmeta },
                                     { "tostring", call_tostring },
                                     { NULL, NULL } };
    lua_newtable(L);
    int to = lua_gettop(L);
    lua_pushcfunction(L, luaopen_base);
    lua_call(L, 0, 1);
    sandbox_copy(L, to + 1, to, from_base);
    lua_settop(L, to);
    luaL_setfuncs(L, ours, 0);
    copy_library(L, to, "string", luaopen_string, from_string);
    copy_library(L, to, "table", luaopen_table, from_table);
    copy_library(L, to, "math", luaopen_math, from_math);
    lua_newtable(L); /* Lua's globals are not reachable */
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}
