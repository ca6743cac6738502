/* SPDX-License-Identifier: MIT
** The Lua library in specs/library, embedded in the compiler.  Its chunks are named
** "=library/...", a user's chunks "@path", so that errors can tell whose line is to blame.
** Importers and exporters, in the folders import/ and export/, are in tables of their own: no
** model depends on them.
*/
#include "front.h"

#include <string.h>

#include "library.inc"

const char *spec_library_text(const char *chunk, size_t *size) {
    static const char folder[] = "library/";
    if (strncmp(chunk, folder, sizeof folder - 1)) return NULL;
    for (int i = 0; i < library_count; i++) {
        if (strcmp(library_file[i].name, chunk + sizeof folder - 1)) continue;
        *size = library_file[i].size;
        return (const char *)library_file[i].text;
    }
    return NULL;
}

static const Embedded *library_find(const Embedded *file, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (!strcmp(file[i].name, name)) return &file[i];
    return NULL;
}

void library_load(lua_State *L, const char *name) {
    const Embedded *file = library_find(library_file, library_count, name);
    if (!file) file = library_find(importers_file, importers_count, name);
    if (!file) file = library_find(exporters_file, exporters_count, name);
    if (!file) spec_fail(L, "expected a file of the library, found '%s'", name);
    const char *chunk = lua_pushfstring(L, "=library/%s", name);
    if (luaL_loadbufferx(L, (const char *)file->text, file->size, chunk, "t")) lua_error(L);
    lua_remove(L, -2);
}
