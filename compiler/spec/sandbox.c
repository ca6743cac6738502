/* SPDX-License-Identifier: MIT
** What a spec may use.  Memory: the allocator refuses more than the limit.  Time: the hook counts
** instructions.  What costs more than an instruction counts as several: calls and returns by their
** values, strings by their bytes, growing blocks by theirs, and other things by sandbox_charge.
** After the limit the hook fails at every single instruction, so that no pcall survives.  No clock
** is involved: a spec stops at the same place everywhere.  Strings are short (MAXSTRING), so that
** no instruction costs much.
*/
#include "front.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HOOK_EVERY = 1000, MAXREFUSED = 64, MAXVALUES = 250 };

/* What counts as an instruction: so many bytes of strings or of other blocks, so many values
** handed on; and what counts as so many: a call, one that is protected.  An instruction may compare
** two of the longest strings that were made: so many bytes of one make every instruction one
** more. */
enum { BYTES = 8, BLOCK = 16, VALUES = 4, CALL = 1, PROTECTED = 32, COMPARED = 160 };
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

void spec_stop(lua_State *L, int status, const char *fmt, ...) {
    va_list ap;
    front(L)->status = status;
    sandbox_hook(L);
    va_start(ap, fmt);
    spec_raise(L, spec_here(L), fmt, ap);
}

/* For C functions whose time grows with their arguments. */
void sandbox_charge(lua_State *L, int64_t instructions) {
    Front *f = front(L);
    f->left -= instructions;
    if (f->left < 0) out_of_instructions(L);
}

/* == Protected calls ====================================================== */

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
