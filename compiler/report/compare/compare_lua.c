/* SPDX-License-Identifier: MIT
** The text of Lua lines; see compare_code.h.  Lines that cannot be read are left out without an
** error.
*/
#include "escape.h"
#include "compare_code.h"

#include "files.h"
#include "spec.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 4 << 20 }; /* what a spec's file may have */

static void lua_read_file(LuaFile *f) {
    Input in;
    size_t size;
    const char *text = spec_library_text(f->name, &size);
    if (text) {
        f->text = malloc(size + 1);
        if (f->text) memcpy(f->text, text, size), f->size = size;
        return;
    }
    if (input_open(&in, f->name, NULL)) return;
    size = in.before.st_size <= FILE_BYTES ? (size_t)in.before.st_size : 0;
    f->text = malloc(size + 1);
    if (f->text && !input_read(&in, 0, f->text, size, NULL)) f->size = size;
    input_close(&in);
}

static const LuaFile *file_of(LuaFiles *x, const char *name, size_t n) {
    for (int i = 0; i < x->n; i++)
        if (strlen(x->file[i].name) == n && !memcmp(x->file[i].name, name, n)) return &x->file[i];
    if (x->n == LUA_FILES || n >= sizeof x->file->name) return NULL;
    LuaFile *f = &x->file[x->n++];
    *f = (LuaFile){ 0 };
    memcpy(f->name, name, n);
    lua_read_file(f);
    return f;
}

const LuaFile *lua_file(LuaFiles *x, const char *name) {
    const LuaFile *f = file_of(x, name, strlen(name));
    return f && f->text ? f : NULL;
}

bool lua_line(LuaFiles *x, const char *place, char to[LUA_LINE]) {
    const char *colon = strrchr(place, ':');
    const LuaFile *f = colon ? file_of(x, place, (size_t)(colon - place)) : NULL;
    int64_t line;
    if (!f || !f->text || !parse_int64(colon + 1, 1, INT32_MAX, &line)) return false;
    const char *at = f->text, *end = f->text + f->size;
    while (--line && at)
        at = memchr(at, '\n', (size_t)(end - at)), at = at ? at + 1 : NULL;
    while (at && at < end && (*at == ' ' || *at == '\t'))
        at++;
    const char *stop = at && at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    if (!at || at >= end) return false;
    text_escape(to, LUA_LINE, at, (size_t)((stop ? stop : end) - at));
    return true;
}

void lua_free(LuaFiles *x) {
    for (int i = 0; i < x->n; i++)
        free(x->file[i].text);
    x->n = 0;
}
