/* SPDX-License-Identifier: MIT
** The order of a table's keys: numbers first, then strings by their bytes, then false and true.  C
** code sorts them instead of Lua code, so that it costs the same number of instructions whatever
** the order of Lua's hash tables, which have a random seed.
*/
#include "front.h"

#include <stdlib.h>
#include <string.h>

typedef struct TableKey {
    int type;
    bool whole;
    long double number; /* holds every integer and every float */
    const char *text;   /* the table keeps it alive */
    size_t length;
    int boolean;
} TableKey;

/* What sorting a key, or looking at it, counts as. */
enum { SORTED = 12, SEEN = 12 };

static int sign(bool less, bool more) { return more - less; }

static int compare_keys(const void *a, const void *b) {
    static const int rank[] = { [LUA_TNUMBER] = 1, [LUA_TSTRING] = 2, [LUA_TBOOLEAN] = 3 };
    const TableKey *x = a, *y = b;
    if (x->type != y->type) return rank[x->type] - rank[y->type];
    if (x->type == LUA_TNUMBER) return sign(x->number<y->number, x->number> y->number);
    if (x->type == LUA_TBOOLEAN) return x->boolean - y->boolean;
    int by = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
    return by ? by : sign(x->length<y->length, x->length> y->length);
}

/* The key on the stack at 'at'. */
static TableKey get_key(lua_State *L, int at, const char *what) {
    TableKey k = { .type = lua_type(L, at) };
    k.whole = k.type == LUA_TNUMBER && lua_isinteger(L, at);
    if (k.type == LUA_TNUMBER)
        k.number = k.whole ? (long double)lua_tointeger(L, at) : lua_tonumber(L, at);
    else if (k.type == LUA_TSTRING) k.text = lua_tolstring(L, at, &k.length);
    else if (k.type == LUA_TBOOLEAN) k.boolean = lua_toboolean(L, at);
    else
        spec_fail(L, "%s: expected keys that are numbers, strings or booleans, found a %s", what,
                  luaL_typename(L, at));
    return k;
}

static void push_key(lua_State *L, const TableKey *k) {
    if (k->type == LUA_TSTRING) lua_pushlstring(L, k->text, k->length);
    else if (k->type == LUA_TBOOLEAN) lua_pushboolean(L, k->boolean);
    else if (k->whole) lua_pushinteger(L, (lua_Integer)k->number);
    else lua_pushnumber(L, (lua_Number)k->number);
}

static void check_table(lua_State *L, int at, const char *what) {
    if (!lua_istable(L, at))
        spec_fail(L, "%s: expected a table, found %s", what,
                  lua_isnoneornil(L, at) ? "nothing"
                                         : lua_pushfstring(L, "a %s", luaL_typename(L, at)));
}

int order_keys(lua_State *L) {
    const char *what = luaL_checkstring(L, 1);
    int64_t n = 0, i = 0, depth = 1;
    check_table(L, 2, what);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1))
        n++;
    while (n >> depth)
        depth++;
    sandbox_charge(L, n * (SEEN + SORTED * depth));
    TableKey *key = lua_newuserdatauv(L, (size_t)n * sizeof *key, 0);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1))
        key[i++] = get_key(L, -2, what);
    qsort(key, (size_t)n, sizeof *key, compare_keys);
    lua_createtable(L, (int)n, 0);
    for (i = 0; i < n; i++) {
        push_key(L, &key[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

int order_next(lua_State *L) {
    TableKey after = { 0 }, first = { 0 };
    int64_t n = 0;
    check_table(L, 1, "next");
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) after = get_key(L, 2, "next");
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1), n++) {
        TableKey k = get_key(L, -2, "next");
        bool behind = !after.type || compare_keys(&after, &k) < 0;
        if (behind && (!first.type || compare_keys(&k, &first) < 0)) first = k;
    }
    sandbox_charge(L, n * SEEN);
    if (!first.type) return lua_pushnil(L), 1;
    push_key(L, &first);
    lua_pushvalue(L, -1);
    lua_rawget(L, 1);
    return 2;
}
