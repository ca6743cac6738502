/* SPDX-License-Identifier: MIT
** Evaluates one value of a spec that is given as text elsewhere.  It runs in the sandbox alone, so
** that errors in it are reported for it.
*/
#include "front.h"

#include <string.h>

/* Fails unless the text, between 'before' and 'after', is Lua. */
static void push_expression(lua_State *L, const SpecValue *v, const char *before,
                            const char *after) {
    const char *text = lua_pushfstring(L, "%s%s%s", before, v->text, after);
    files_text(L, v->option, text, strlen(text));
    lua_remove(L, -2);
}

static void call_library(lua_State *L, int library, const char *function) {
    lua_getfield(L, library, "library");
    lua_getfield(L, -1, function);
    lua_remove(L, -2);
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
}

/* (value, library).  A text that is Lua with and without parentheses around it is one expression,
** which does not end in a comment. */
static int value_check(lua_State *L) {
    const SpecValue *v = lua_touserdata(L, 1);
    int library = 2;
    if (strlen(v->text) > MAXSTRING / 2)
        spec_fail_at(L, (Loc){ .file = v->option, .line = 1 },
                     "expected a text of at most %d bytes, found more", MAXSTRING / 2);
    files_open(L, v->path);
    push_expression(L, v, "return ", "");
    push_expression(L, v, "return (", ")");
    lua_getfield(L, library, "environment");
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    call_library(L, library, "kind_of");
    const char *kind = lua_tostring(L, -1);
    if (kind && !strcmp(kind, v->kind)) return 0;
    lua_pop(L, 1);
    call_library(L, library, "describe");
    bool mixer = !strcmp(v->kind, "mixer");
    spec_fail_at(L, (Loc){ .file = v->option, .line = 1 }, "expected a %s, such as %s, found %s",
                 v->kind, mixer ? "haares { blocks = 4 } or require 'mine' {}" : "dtr {}",
                 lua_tostring(L, -1));
}

int spec_check_value(const SpecValue *v, Error *e) {
    Front *f = spec_open(NULL, false);
    if (!f) return error_set(e, STATUS_LIMIT, "%s: expected memory, found none left", v->option);
    Model *m = f->m;
    SpecValue value = *v;
    *e = (Error){ 0 };
    m->file = graph_string(f->g, v->path);
    snprintf(f->stuck, sizeof f->stuck, "%s:1", v->option);
    int status = f->opened;
    if (!status) status = front_call(f, value_check, &value);
    if (status) spec_report(f, status, e);
    front_free(f);
    spec_free(m);
    return e->status;
}
