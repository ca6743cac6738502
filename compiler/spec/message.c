/* SPDX-License-Identifier: MIT
** Messages of errors.  Lua's own are rewritten to the form that all errors have, and the user's
** line is shown below them.
*/
#include "escape.h"
#include "front.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* == Lua's own messages =================================================== */

#define TENSORS "; of those max(a, b), min(a, b) and greater(a, b) are tensors"

/* How Lua begins a message, and what to say instead.  %s is the rest. */
static const struct {
    const char *lua, *ours;
} wording[] = {
    { "attempt to call a ", "expected a function to call, found a %s" },
    { "attempt to index a ", "expected a table or tensor to index, found a %s" },
    { "attempt to perform arithmetic on a tensor value",
      "expected +, -, *, / or ^ with tensors, found another operator; what comes again every n "
      "tokens is made of wave({ 2 * math.pi / n })%s" },
    { "attempt to perform arithmetic on a ",
      "expected a number or tensor to calculate with, found a %s" },
    { "attempt to concatenate a ", "expected a string or number to join with '..', found a %s" },
    { "attempt to compare tensor ", "expected numbers to compare, found a tensor %s" TENSORS },
    { "attempt to compare number with tensor",
      "expected numbers to compare, found a tensor%s" TENSORS },
    { "attempt to compare two tensor values",
      "expected numbers to compare, found tensors%s" TENSORS },
    { "attempt to compare ", "expected two numbers or two strings to compare, found %s" },
    { "attempt to get length of a ",
      "expected a table or string to take the length of, found a %s" },
    { "attempt to ", "expected a legal operation, found an attempt to %s" },
    { "stack overflow", "expected calls nested less deeply, found stack overflow%s" },
    { "C stack overflow", "expected calls nested less deeply, found C stack overflow%s" },
    { "error in error handling",
      "expected calls nested less deeply, found an error in an error%s" },
};

/* Is there an operation on tensors of this name? */
static bool op_called(const char *name) {
    for (int op = 0; op < NOP; op++)
        if (!strcmp(op_info[op].name, name)) return true;
    return false;
}

/* "bad argument #2 to 'floor' (number expected, got nil)" */
static bool push_argument(lua_State *L, const char *text) {
    int n, used = 0;
    char name[64], wanted[128], got[128];
    if (sscanf(text, "bad argument #%d to '%63[^']' (%127[^,)], got %127[^)])%n", &n, name, wanted,
               got, &used)
        != 4)
        return false;
    char *tail = strstr(wanted, " expected");
    if (tail) *tail = 0;
    bool tensor = !strcmp(got, "tensor") && op_called(name);
    lua_pushfstring(L, "%s: argument %d: expected %s, found %s%s%s%s", name, n, wanted, got,
                    tensor ? "; that of tensors is " : "", tensor ? name : "",
                    tensor ? ", without 'math.'" : "");
    return true;
}

/* "'}' expected near 'x'", "'}' expected (to close '{' at line 3) near <eof>" */
static void push_syntax(lua_State *L, const char *text) {
    const char *word = strstr(text, " expected"), *near = strstr(text, " near ");
    if (!near || !word || word > near) {
        lua_pushfstring(L, "expected valid Lua, found %s", text);
        return;
    }
    const char *rest = word + strlen(" expected");
    lua_pushstring(L, "expected ");
    lua_pushlstring(L, text, (size_t)(word - text));
    lua_pushlstring(L, rest, (size_t)(near - rest));
    lua_pushfstring(L, ", found %s", near + strlen(" near "));
    lua_concat(L, 4);
}

static void push_reworded(lua_State *L, const char *text) {
    for (size_t i = 0; i < sizeof wording / sizeof *wording; i++) {
        size_t n = strlen(wording[i].lua);
        if (strncmp(text, wording[i].lua, n)) continue;
        lua_pushfstring(L, wording[i].ours, text + n);
        return;
    }
    if (strstr(text, "expected ") == text || push_argument(L, text)) return;
    lua_pushfstring(L, "expected Lua that runs, found an error: %s", text);
}

/* What follows "SOURCE:LINE: " of the chunk if the text begins with that; else NULL. */
static const char *behind_location(const char *text, const char *source) {
    size_t n = strlen(source);
    if (strncmp(text, source, n) || text[n] != ':') return NULL;
    const char *p = text + n + 1;
    while (isdigit((unsigned char)*p))
        p++;
    return p > text + n + 1 && p[0] == ':' && p[1] == ' ' ? p + 2 : NULL;
}

/* Lua puts the location of the running or the calling function in front. */
static const char *without_location(lua_State *L, const char *text) {
    lua_Debug ar;
    for (int level = 1; level < 4 && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "S", &ar);
        const char *rest = behind_location(text, ar.short_src);
        if (rest) return rest;
    }
    return text;
}

int spec_handle_error(lua_State *L) {
    Front *f = front(L);
    bool raised = f->raised;
    f->raised = false;
    if (raised) return 1;
    Loc at = spec_here(L);
    lua_settop(L, 1);
    if (lua_type(L, 1) != LUA_TSTRING) {
        lua_pushfstring(L, "%s:%d: expected an error with a message, found one that is a %s",
                        at.file, at.line, luaL_typename(L, 1));
        return 1;
    }
    const char *text = without_location(L, lua_tostring(L, 1));
    if (strstr(text, "stack overflow")) f->status = 3;
    lua_pushfstring(L, "%s:%d: ", at.file, at.line);
    push_reworded(L, text);
    lua_concat(L, 2);
    return 1;
}

/* == Printing ============================================================= */

/* "\n   12 | text of line 12", if the message says "file:12: ". */
static void append_line(const Front *f, const char *message, char *out, size_t size) {
    for (const SourceFile *s = f->source; s; s = s->next) {
        if (!behind_location(message, s->path)) continue;
        long line = strtol(message + strlen(s->path) + 1, NULL, 10);
        const char *p = s->text, *end = s->text + s->size;
        for (long i = 1; i < line && p; i++) {
            p = memchr(p, '\n', (size_t)(end - p));
            if (p) p++;
        }
        if (!p || p >= end) return;
        char text[100];
        size_t n = strcspn(p, "\r\n");
        snprintf(text, sizeof text, "%.*s", (int)(n < 99 ? n : 99), p);
        size_t used = (size_t)snprintf(out, size, "\n%5ld | ", line);
        if (used < size) text_escape(out + used, size - used, text, strlen(text));
        return;
    }
}

/* Lua's parser puts the chunk's shortened name in front: say the file's. */
void spec_relocate(Front *f, const char *text, char *out, size_t size) {
    const char *p = text;
    while (*p && !(p[0] == ':' && isdigit((unsigned char)p[1])))
        p++;
    long line = *p ? strtol(p + 1, (char **)&p, 10) : 1;
    text = *p ? p + 2 : text;
    if (strncmp(text, "expected ", 9)) push_syntax(f->L, text);
    else lua_pushstring(f->L, text); /* spec_handle_error reworded it: nested too deeply */
    snprintf(out, size, "%s:%ld: %s", f->loading, line, lua_tostring(f->L, -1));
    lua_pop(f->L, 1);
}

void spec_out_of_memory(const Front *f, char *out, size_t size) {
    if (f->starved) snprintf(out, size, "%s: not enough memory to read it with", f->stuck);
    else
        snprintf(out, size, "%s: expected to need at most %zu bytes of memory, found more",
                 f->stuck, f->limit.memory);
}

void spec_report(Front *f, int status, Error *e) {
    char text[900];
    const char *message = f->L && lua_type(f->L, -1) == LUA_TSTRING ? lua_tostring(f->L, -1) : "";
    if (status == LUA_ERRMEM || !*message) {
        spec_out_of_memory(f, text, sizeof text);
        f->status = 3;
    } else {
        snprintf(text, sizeof text, "%s", message);
    }
    e->status = f->status ? f->status : STATUS_USER;
    size_t used = text_escape(e->text, sizeof e->text - 120, text, strlen(text));
    append_line(f, text, e->text + used, sizeof e->text - used);
}
