/* SPDX-License-Identifier: MIT
** Reads source files.  Only the spec's own folder is accessible: require takes plain names joined
** by dots, and the file must lie inside the folder.
*/
#include "front.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* == Reading ============================================================== */

static SourceFile *remember(Front *f, const char *path, size_t size) {
    SourceFile *s = calloc(1, sizeof *s);
    if (s) s->path = strdup(path);
    if (s) s->text = malloc(size + 1);
    if (!s || !s->path || !s->text) {
        if (s) free(s->path), free(s);
        return NULL;
    }
    s->size = size;
    s->next = f->source;
    f->source = s;
    return s;
}

/* NULL, or what went wrong. */
static const char *files_read_all(int fd, SourceFile *s) {
    size_t got = 0;
    while (got < s->size) {
        ssize_t n = read(fd, s->text + got, s->size - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return strerror(errno);
        if (!n) break;
        got += (size_t)n;
    }
    s->size = got;
    s->text[got] = 0;
    return NULL;
}

/* A name that leads nowhere is a mistake; anything else is the machine's failure. */
static bool asked_wrongly(int error) {
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP
        || error == ENAMETOOLONG;
}

/* What a folder is, where a file is expected. */
static const char *folder_words(int fd) {
    return faccessat(fd, "config.json", F_OK, 0)
        ? "it is a folder"
        : "it is a folder with a config.json, of which strata import makes a spec";
}

int files_read(Front *f, const char *file, const char *path, size_t most, SourceFile **s,
               char found[256]) {
    struct stat st;
    const char *wrong = NULL, *which = "";
    int status = 4, fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st)) {
        status = asked_wrongly(errno) ? 1 : errno == EMFILE ? 3 : 4;
        which = errno_limit(errno);
        wrong = strerror(errno);
    } else if (!S_ISREG(st.st_mode)) {
        status = 1;
        wrong = S_ISDIR(st.st_mode) ? folder_words(fd) : "it is no regular file";
    } else if (st.st_size > (off_t)most) {
        status = 3;
        wrong = "it is larger than that";
    } else {
        *s = remember(f, path, (size_t)st.st_size);
        wrong = *s ? files_read_all(fd, *s) : strerror(ENOMEM);
        if (!*s) status = 3;
    }
    if (fd >= 0) close(fd);
    snprintf(found, 256, "%s%s", wrong ? wrong : "", which);
    return wrong ? status : 0;
}

/* Lua source; 'blame' is put before errors. */
static SourceFile *read_source(lua_State *L, const char *file, const char *path,
                               const char *blame) {
    Front *f = front(L);
    SourceFile *s = NULL;
    char found[256];
    int status = files_read(f, file, path, f->limit.file, &s, found);
    if (!status) return s;
    bool folder = !strcmp(found, "it is a folder"); /* as Hugging Face's is */
    f->status = status == 1 ? 0 : status;
    f->raised = true;
    lua_pushfstring(L,
                    "%sexpected a Lua file of at most %I bytes that can be read, found '%s': %s%s",
                    blame, (LUAI_UACINT)f->limit.file, path, found,
                    folder ? "; strata import makes a spec of a Hugging Face folder" : "");
    lua_error(L);
    return NULL;
}

/* Pushes the chunk.  Text only: Lua does not check compiled code. */
static void push_chunk(lua_State *L, const SourceFile *s) {
    Front *f = front(L);
    f->loading = graph_string(f->g, s->path);
    const char *chunk = lua_pushfstring(L, "@%s", s->path);
    if (s->size && *s->text == LUA_SIGNATURE[0])
        spec_fail_at(L, (Loc){ .file = f->loading, .line = 1 },
                     "expected Lua source text, found compiled code");
    int status = luaL_loadbufferx(L, s->text, s->size, chunk, "t");
    if (status == LUA_ERRMEM) lua_error(L);
    if (status) {
        char text[600];
        spec_relocate(f, lua_tostring(L, -1), text, sizeof text);
        f->raised = true;
        lua_pushstring(L, text);
        lua_error(L);
    }
    f->loading = NULL;
    lua_remove(L, -2);
}

/* Returns where errno says that nothing of the name is there, or nothing at all. */
static void check_search(lua_State *L, int error) {
    if (error == ENOMEM)
        spec_stop(L, 3, "expected memory enough to find files with, found none left");
    if (error && !asked_wrongly(error))
        spec_stop(L, 4, "expected to find files in the spec's folder, found: %s", strerror(error));
}

void files_open(lua_State *L, const char *path) {
    Front *f = front(L);
    const char *slash = strrchr(path, '/');
    f->shown = slash ? (size_t)(slash - path) + 1 : 0;
    errno = 0;
    char *folder = slash ? strndup(path, f->shown) : strdup(".");
    f->folder = folder ? realpath(folder, NULL) : NULL;
    free(folder);
    check_search(L, f->folder ? 0 : errno);
}

void files_spec(lua_State *L, const char *path) {
    const char *blame = lua_pushfstring(L, "%s: ", path);
    SourceFile *s = read_source(L, path, path, blame);
    lua_pop(L, 1);
    push_chunk(L, s);
}

void files_text(lua_State *L, const char *path, const char *text, size_t size) {
    SourceFile *s = remember(front(L), path, size);
    if (!s) spec_stop(L, 3, "expected memory enough to read the spec with, found none left");
    memcpy(s->text, text, size);
    s->text[size] = 0;
    push_chunk(L, s);
}

/* == require ============================================================== */

/* "a.b_c" to "a/b_c.lua"; false if it is no such name. */
static bool module_file(const char *name, char *file, size_t size) {
    size_t n = strlen(name);
    bool start = true;
    if (n + sizeof ".lua" > size) return false;
    for (size_t i = 0; i < n; i++) {
        bool dot = name[i] == '.';
        if (dot ? start : !(isalnum((unsigned char)name[i]) || name[i] == '_' || name[i] == '-'))
            return false;
        file[i] = dot ? '/' : name[i];
        start = dot;
    }
    strcpy(file + n, ".lua");
    return !start;
}

/* The real path of a file in the spec's folder; NULL: it is not there, or outside. */
static char *files_find(Front *f, const char *file, bool *outside) {
    char path[PATH_MAX];
    *outside = false;
    if (!f->folder || snprintf(path, sizeof path, "%s/%s", f->folder, file) >= (int)sizeof path)
        return NULL;
    char *real = realpath(path, NULL);
    size_t n = strlen(f->folder);
    if (real && n > 1 && (strncmp(real, f->folder, n) || real[n] != '/')) {
        *outside = true;
        free(real);
        return NULL;
    }
    return real;
}

const char *files_real(lua_State *L, const char *what, const char *file) {
    bool outside;
    errno = 0;
    char *real = files_find(front(L), file, &outside);
    check_search(L, real || outside ? 0 : errno);
    if (!real)
        spec_fail(L,
                  outside ? "%s: expected '%s' inside the spec's folder, found a link that leads "
                            "out of it"
                          : "%s: expected a file '%s' in the spec's folder, found none",
                  what, file);
    lua_pushstring(L, real);
    free(real);
    return lua_tostring(L, -1);
}

static void load_module(lua_State *L, const char *name) {
    Front *f = front(L);
    char file[256];
    if (!module_file(name, file, sizeof file))
        spec_fail(
            L,
            "require: expected the name of a file in the spec's folder, without '.lua', found '%s'",
            name);
    files_real(L, "require", file);
    lua_pushlstring(L, f->m->file, f->shown);
    lua_pushstring(L, file);
    lua_concat(L, 2);
    Loc at = spec_here(L);
    lua_pushfstring(L, "%s:%d: ", at.file, at.line);
    push_chunk(L, read_source(L, lua_tostring(L, -3), lua_tostring(L, -2), lua_tostring(L, -1)));
}

/* A module runs once, in the spec's environment; while it runs its entry is
** false, so that a circle is seen. */
int files_require(lua_State *L) {
    if (lua_type(L, 1) != LUA_TSTRING)
        spec_fail(L, "require: expected a name, found a %s", luaL_typename(L, 1));
    lua_settop(L, 1);
    int type = lua_getfield(L, lua_upvalueindex(2), lua_tostring(L, 1));
    if (type == LUA_TBOOLEAN && !lua_toboolean(L, -1))
        spec_fail(L, "require: expected no circle of files, found that '%s' requires itself",
                  lua_tostring(L, 1));
    if (type != LUA_TNIL) return 1;
    lua_pushboolean(L, 0);
    lua_setfield(L, lua_upvalueindex(2), lua_tostring(L, 1));
    load_module(L, lua_tostring(L, 1));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    if (!lua_toboolean(L, -1)) lua_pushboolean(L, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, lua_upvalueindex(2), lua_tostring(L, 1));
    return 1;
}

/* == What was read ======================================================== */

void files_hash(const Front *f) {
    Sha256 h;
    sha256_start(&h);
    sha256_add(&h, STRATA_VERSION, sizeof STRATA_VERSION);
    for (int i = 0; i < library_count; i++) {
        sha256_add(&h, library_file[i].name, strlen(library_file[i].name) + 1);
        sha256_add(&h, library_file[i].text, library_file[i].size + 1);
    }
    for (const SourceFile *s = f->source; s; s = s->next) {
        sha256_add(&h, &s->size, sizeof s->size);
        sha256_add(&h, s->text, s->size);
    }
    options_hash(f->m, &h);
    sha256_text(&h, f->m->key);
    char start[17];
    snprintf(start, sizeof start, "%.16s", f->m->key);
    f->m->hash = strtoull(start, NULL, 16);
}

void files_list(Front *f, Graph *g) {
    Model *m = f->m;
    m->nread_file = 0;
    for (const SourceFile *s = f->source; s; s = s->next)
        m->nread_file++;
    m->read_file = graph_alloc(g, (size_t)m->nread_file * sizeof *m->read_file);
    int at = m->nread_file;
    for (const SourceFile *s = f->source; s; s = s->next)
        m->read_file[--at] = graph_string(g, s->path);
}

void files_free(Front *f) {
    for (SourceFile *s = f->source, *next; s; s = next) {
        next = s->next;
        free(s->path);
        free(s->text);
        free(s);
    }
    free(f->folder);
}
