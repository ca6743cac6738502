/* SPDX-License-Identifier: MIT
** Errors that a spec raises.  The line to blame is the user's innermost line: chunks of the library
** are skipped.  While the library works for something that the user wrote further up (a sublayer,
** for example), spec_call_at says where that was.
*/
#include "front.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* == Where ================================================================ */

/* A file's name, kept by the graph.  Most are one of the two that the last ones were. */
static const char *kept_file(Front *f, const char *name) {
    const char **last = f->files;
    for (int i = 0; i < 2; i++)
        if (last[i] && !strcmp(last[i], name)) return last[i];
    last[1] = last[0];
    return last[0] = graph_string(f->g, name);
}

/* The location that a frame of spec_call_at carries, in its first two arguments. */
static Loc location_given(lua_State *L, lua_Debug *ar) {
    Loc at = { 0 };
    if (!lua_getlocal(L, ar, 1)) return at;
    const char *file = lua_tostring(L, -1);
    lua_pop(L, 1);
    if (!lua_getlocal(L, ar, 2)) return at;
    if (file) at = (Loc){ .file = kept_file(front(L), file), .line = (int)lua_tointeger(L, -1) };
    lua_pop(L, 1);
    return at;
}

/* The line that a frame stands for, if it is one of the user's or carries one. */
static Loc line_of(lua_State *L, lua_Debug *ar) {
    if (*ar->source == '@') {
        lua_getinfo(L, "l", ar);
        return (Loc){ .file = kept_file(front(L), ar->source + 1), .line = ar->currentline };
    }
    if (*ar->what != 'C') return (Loc){ 0 };
    lua_getinfo(L, "f", ar);
    bool given = lua_tocfunction(L, -1) == spec_call_at;
    lua_pop(L, 1);
    return given ? location_given(L, ar) : (Loc){ 0 };
}

/* The user's line, and as its origin the innermost line of Lua, which may be the library's. */
Loc spec_here(lua_State *L) {
    lua_Debug ar;
    Loc at = { 0 }, origin = { 0 };
    for (int level = 0; !at.file && lua_getstack(L, level, &ar); level++) {
        bool first = !origin.file;
        lua_getinfo(L, first ? "Sl" : "S", &ar);
        if (first && *ar.what != 'C' && ar.currentline >= 1)
            origin = (Loc){ .file = kept_file(front(L), ar.source + 1), .line = ar.currentline };
        at = line_of(L, &ar);
    }
    if (!at.file) at = (Loc){ .file = graph_string(front(L)->g, front(L)->m->file), .line = 1 };
    at.origin = origin.file;
    at.origin_line = origin.line;
    return at;
}

int spec_call_at(lua_State *L) {
    int n = lua_gettop(L);
    for (int i = 3; i <= n; i++)
        lua_pushvalue(L, i);
    lua_call(L, n - 3, LUA_MULTRET);
    return lua_gettop(L) - n;
}

/* == Raising ============================================================== */

_Noreturn void spec_raise(lua_State *L, Loc at, const char *fmt, va_list ap) {
    lua_pushfstring(L, "%s:%d: ", at.file, at.line);
    lua_pushvfstring(L, fmt, ap);
    lua_concat(L, 2);
    front(L)->raised = true;
    lua_error(L);
    abort();
}

void spec_fail(lua_State *L, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    spec_raise(L, spec_here(L), fmt, ap);
}

void spec_fail_at(lua_State *L, Loc at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    spec_raise(L, at, fmt, ap);
}
