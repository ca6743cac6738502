/* SPDX-License-Identifier: MIT
** Parsing the library's Lua files is most of what a short spec takes.  Linked with
** --wrap=luaL_loadbufferx, a program parses each of them once: the next ones get what lua_dump
** kept, lines of errors and all.  Files of specs are parsed as ever.
*/
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 256 };

typedef struct ParsedFile {
    const char *text; /* embedded in the program: its address is its name */
    char *code;
    size_t size;
} ParsedFile;

int __real_luaL_loadbufferx(lua_State *L, const char *text, size_t n, const char *chunk,
                            const char *mode);
int __wrap_luaL_loadbufferx(lua_State *L, const char *text, size_t n, const char *chunk,
                            const char *mode);

static int keep(lua_State *L, const void *bytes, size_t n, void *file) {
    ParsedFile *f = file;
    char *bigger = realloc(f->code, f->size + n);
    (void)L;
    if (!bigger) abort();
    memcpy(bigger + f->size, bytes, n);
    f->code = bigger;
    f->size += n;
    return 0;
}

int __wrap_luaL_loadbufferx(lua_State *L, const char *text, size_t n, const char *chunk,
                            const char *mode) {
    static ParsedFile file[FILES];
    int i = 0;
    if (strncmp(chunk, "=library/", 9) != 0)
        return __real_luaL_loadbufferx(L, text, n, chunk, mode);
    while (i < FILES && file[i].text && file[i].text != text)
        i++;
    if (i == FILES) return __real_luaL_loadbufferx(L, text, n, chunk, mode);
    if (file[i].text) return __real_luaL_loadbufferx(L, file[i].code, file[i].size, chunk, "b");
    int status = __real_luaL_loadbufferx(L, text, n, chunk, mode);
    if (!status) lua_dump(L, keep, &file[i], 0);
    if (!status) file[i].text = text;
    return status;
}
