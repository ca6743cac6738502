/* SPDX-License-Identifier: MIT
** Tokenizer files: a spec names a file beside it, and the program contains its bytes.  As with
** require, the file must lie in the spec's folder.
*/
#include "file_limits.h"
#include "front.h"
#include "hash.h"
#include "tokenizer_file.h"

#include <string.h>

enum { BYTES_PER_INSTRUCTION = 16 }; /* of a file that is read, for the spec's limit */

static bool ends(const char *name, const char *with) {
    size_t n = strlen(name), k = strlen(with);
    return n > k && !strcmp(name + n - k, with);
}

static bool is_file(const char *name) {
    return ends(name, ".json") || ends(name, ".model") || ends(name, ".tiktoken");
}

/* Relative, without ".", ".." and empty parts. */
static bool is_inside(const char *name, size_t length) {
    if (strlen(name) != length) return false;
    for (const char *s = name;; s++) {
        size_t n = strcspn(s, "/");
        if (!n || (n == 1 && *s == '.') || (n == 2 && s[0] == '.' && s[1] == '.')) return false;
        s += n;
        if (!*s) return true;
    }
}

static SourceFile *source_known(const Front *f, const char *path) {
    SourceFile *s = f->source;
    while (s && !(s->ids && !strcmp(s->path, path)))
        s = s->next;
    return s;
}

/* As messages show it: beside the spec as that was typed. */
static const char *shown_path(lua_State *L, const char *name) {
    Front *f = front(L);
    lua_pushlstring(L, f->m->file, f->shown);
    lua_pushstring(L, name);
    lua_concat(L, 2);
    return lua_tostring(L, -1);
}

/* How many ids it has. */
static int64_t parse(lua_State *L, const SourceFile *s) {
    Tokenizer t = { 0 };
    Error e = { 0 };
    sandbox_charge(L, (int64_t)(s->size / BYTES_PER_INSTRUCTION));
    int status = tokenizer_parse(&t, s->path, s->text, s->size, &e);
    int64_t ids = t.ids;
    if (!status) tokenizer_free(&t);
    e.text[strcspn(e.text, "\n")] = 0;
    if (status == STATUS_USER) spec_fail(L, "tokenizer: %s", e.text);
    if (status) spec_stop(L, status, "tokenizer: %s", e.text);
    return ids;
}

static SourceFile *read_tokenizer(lua_State *L, const char *name, const char *path) {
    Front *f = front(L);
    SourceFile *s = source_known(f, path);
    char found[256];
    if (s) return s;
    const char *file = f->tokenizer_from ? f->tokenizer_from : files_real(L, "tokenizer", name);
    int status = files_read(f, file, path, TOKENIZER_FILE_BYTES, &s, found);
    if (status == 1)
        spec_fail(L, "tokenizer: expected a file that can be read, found '%s': %s", path, found);
    if (status)
        spec_stop(L, status, "tokenizer: expected a file of at most %d bytes, found '%s': %s",
                  TOKENIZER_FILE_BYTES, path, found);
    s->ids = parse(L, s);
    return s;
}

int tokenizer_call(lua_State *L) {
    size_t length;
    const char *name = luaL_checklstring(L, 1, &length);
    int64_t vocab = luaL_checkinteger(L, 2);
    lua_settop(L, 2);
    lua_pushboolean(L, is_file(name));
    if (!is_file(name)) return 1;
    if (!is_inside(name, length))
        spec_fail(L, "tokenizer: expected a path inside the spec's folder, found '%s'", name);
    const SourceFile *s = read_tokenizer(L, name, shown_path(L, name));
    if (s->ids > vocab)
        spec_fail(L, "model: expected vocab to be at least %I, for the ids of '%s', found %I",
                  (LUAI_UACINT)s->ids, name, (LUAI_UACINT)vocab);
    lua_settop(L, 3);
    return 1;
}

void tokenizer_carry(Front *f) {
    Model *m = f->m;
    if (!m->tokenizer || !is_file(m->tokenizer)) return;
    for (SourceFile *s = f->source; s; s = s->next)
        if (s->ids && !strncmp(s->path, m->file, f->shown)
            && !strcmp(s->path + f->shown, m->tokenizer)) {
            Sha256 h;
            m->tokenizer_file = (CarriedFile){ s->text, s->size, "" };
            sha256_start(&h);
            sha256_add(&h, s->text, s->size);
            sha256_text(&h, m->tokenizer_file.sha256);
            s->text = NULL;
        }
}
