/* SPDX-License-Identifier: MIT
** What a spec may use.  Memory: the allocator refuses more than the limit.  Time: the hook counts
** instructions.  What costs more than an instruction counts as several: calls and returns by their
** values, strings by their bytes, growing blocks by theirs, and other things by sandbox_charge.
** After the limit the hook fails at every single instruction, so that no pcall survives.  No clock
** is involved: a spec stops at the same place everywhere.  Strings are short (MAXSTRING), so that
** no instruction costs much.  Library: only those parts of Lua's library remain that cannot see
** addresses, files or the order of hash tables; base.lua builds the rest of the subset from them.
*/
#include "front.h"

#include <lualib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HOOK_EVERY = 1000, MAXREFUSED = 64, MAXVALUES = 250 };

/* What counts as an instruction: so many bytes of strings or of other blocks, so many values
** handed on; and what counts as so many: a call, one of format, one that is protected, an error, a
** number's digits.  An instruction may compare two of the longest strings that were made: so many
** bytes of one make every instruction one more. */
enum {
    BYTES = 8,
    BLOCK = 16,
    VALUES = 4,
    CALL = 1,
    FORMAT = 16,
    PROTECTED = 32,
    ERROR = 256,
    DIGITS = 256,
    COMPARED = 160
};
enum { SHORT = 64 }; /* bytes of a string that cost nothing */
enum {
    HANDED = 256
}; /* the same where one is handed on: reading them takes no longer than a call */

const SpecLimits spec_limits = { .memory = (size_t)64 << 20,
                                 .instructions = 50 * 1000 * 1000,
                                 .file = (size_t)4 << 20,
                                 .layers = 10000,
                                 .graph = (size_t)1 << 30,
                                 .seconds = 600 };

/* == Memory =============================================================== */

/* Runs inside the allocator, so it must not touch the Lua stack. */
static void remember_place(Front *f) {
    lua_Debug ar;
    if (f->status) return; /* it is over already */
    if (f->loading) snprintf(f->stuck, sizeof f->stuck, "%s:1", f->loading);
    for (int level = 0; f->L && lua_getstack(f->L, level, &ar); level++) {
        lua_getinfo(f->L, "Sl", &ar);
        if (*ar.source != '@') continue;
        snprintf(f->stuck, sizeof f->stuck, "%s:%d", ar.source + 1, ar.currentline);
        return; /* none: Lua is cleaning up */
    }
}

/* New strings are written, blocks that grow are copied. */
static void charge_bytes(Front *f, const void *p, size_t old, size_t size) {
    bool string = !p && old == LUA_TSTRING;
    if (string && size > f->longest) f->longest = size;
    if (string && size > SHORT) f->left -= (int64_t)size / BYTES;
    if (!string && size > SHORT) f->left -= (int64_t)(p ? old : size) / BLOCK;
}

/* Refusing starts a full collection; too many of those are a limit, too. */
void *sandbox_alloc(void *ud, void *p, size_t old, size_t size) {
    Front *f = ud;
    size_t held = p ? old : 0;
    if (!size) {
        f->used -= held;
        heap_give(&f->heap, p, old);
        return NULL;
    }
    charge_bytes(f, p, old, size);
    bool longer = !p && old == LUA_TSTRING && size > MAXSTRING + 64;
    bool fits = f->used - held <= f->limit.memory && size <= f->limit.memory - (f->used - held);
    if (size > held && (longer || !fits || f->refused > MAXREFUSED)) {
        f->refused++;
        remember_place(f);
        return NULL;
    }
    void *q = heap_resize(&f->heap, p, old, size);
    if (q) f->used += size - held;
    else f->starved = true, remember_place(f);
    return q;
}

/* == Instructions ========================================================= */

double sandbox_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static _Noreturn void out_of_instructions(lua_State *L) {
    spec_stop(L, 3, "expected at most %I instructions, found more",
              (LUAI_UACINT)front(L)->limit.instructions);
}

/* Values that a call or a return hands on; long strings among the first, for C functions read
** all of them.  Most specs have none. */
static int64_t cost_of_values(lua_State *L, lua_Debug *ar) {
    if (lua_gettop(L) < VALUES && front(L)->longest <= HANDED) return 0; /* the frame has no more */
    lua_getinfo(L, "r", ar);
    int64_t cost = ar->ntransfer / VALUES;
    if (front(L)->longest <= HANDED) return cost;
    for (int i = 0; i < 3 && i < ar->ntransfer; i++) {
        if (!lua_getlocal(L, ar, ar->ftransfer + i)) break;
        size_t n = lua_type(L, -1) == LUA_TSTRING ? lua_rawlen(L, -1) : 0;
        if (n > HANDED) cost += (int64_t)n / BYTES;
        lua_pop(L, 1);
    }
    return cost;
}

static void hook(lua_State *L, lua_Debug *ar) {
    Front *f = front(L);
    bool counts = ar->event == LUA_HOOKCOUNT, returns = ar->event == LUA_HOOKRET;
    if (f->status && !counts) return; /* on its way out */
    if (counts) f->left -= HOOK_EVERY * (1 + (int64_t)f->longest / COMPARED);
    else f->left -= cost_of_values(L, ar) + (returns ? 0 : CALL);
    if (f->status || f->left < 0) out_of_instructions(L);
    if (counts && sandbox_seconds() - f->start > f->limit.seconds)
        spec_stop(L, 3, "expected at most %d s of processor time, found more",
                  (int)f->limit.seconds);
    if (!counts && !returns && lua_getlocal(L, ar, -MAXVALUES - 1))
        spec_stop(L, 3, "expected at most %d values for '...', found more", MAXVALUES);
}

void sandbox_hook(lua_State *L) {
    if (front(L)->status) lua_sethook(L, hook, LUA_MASKCOUNT, 1);
    else lua_sethook(L, hook, LUA_MASKCOUNT | LUA_MASKCALL | LUA_MASKRET, HOOK_EVERY);
}

/* For C functions whose time grows with their arguments. */
void sandbox_charge(lua_State *L, int64_t instructions) {
    Front *f = front(L);
    f->left -= instructions;
    if (f->left < 0) out_of_instructions(L);
}

/* == Functions that replace Lua's ========================================= */

int sandbox_call(lua_State *L, int arguments, int handler) {
    Front *f = front(L);
    sandbox_charge(L, PROTECTED);
    int status = lua_pcall(L, arguments, LUA_MULTRET, handler);
    if (status == LUA_ERRMEM) {
        char text[600];
        f->status = 3;
        spec_out_of_memory(f, text, sizeof text);
        lua_pushstring(L, text);
    }
    if (f->status) {
        sandbox_hook(L);
        f->raised = true;
        lua_error(L);
    }
    return status;
}

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
