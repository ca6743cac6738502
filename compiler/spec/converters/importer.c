/* SPDX-License-Identifier: MIT
** Runs an importer; see importer.h. specs/library/import/kit.lua is the part that is written in
** Lua.
*/
#include "importer.h"
#include "importer_plan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A checkpoint may have 100 000 tensors: more than a spec has to say. */
static const SpecLimits import_limits = { .memory = (size_t)512 << 20,
                                          .instructions = 400 * 1000 * 1000 };

typedef struct Importing {
    const ImportRequest *r;
    Imported *out;
} Importing;

/* == What importers are given ============================================= */

static void push_json(lua_State *L, const ImportRequest *r, const JsonNode *n);

/* What Lua cannot have, by the innermost field that it is in. */
static _Noreturn void importer_refuse(lua_State *L, const ImportRequest *r, const JsonNode *n,
                                      const char *expected, const char *found) {
    while (!n->key && n != r->config->node)
        n = &r->config->node[n->in];
    front(L)->raised = true;
    lua_pushfstring(L, "%s/config.json: ", r->folder->path);
    lua_pushlstring(L, n->key ? n->key : "it", n->key ? strnlen(n->key, 60) : 2);
    lua_pushfstring(L, ": expected %s, found %s", expected, found);
    lua_concat(L, 3);
    lua_error(L);
    abort();
}

static void push_text(lua_State *L, const ImportRequest *r, const JsonNode *n, const char *text) {
    char expected[64], found[64];
    size_t length = strlen(text);
    if (length <= MAXSTRING) {
        lua_pushlstring(L, text, length);
        return;
    }
    print_text(expected, sizeof expected, "%s of at most %d bytes",
               text == n->key ? "a name" : "a string", MAXSTRING);
    print_text(found, sizeof found, "one of %zu", length);
    importer_refuse(L, r, n, expected, found);
}

static void push_box(lua_State *L, const ImportRequest *r, const JsonNode *box) {
    const Json *j = r->config;
    lua_Integer i = 1;
    lua_newtable(L);
    for (const JsonNode *n = json_first(j, box); n; n = json_next(j, n)) {
        push_json(L, r, n);
        if (n->key) {
            push_text(L, r, n, n->key);
            lua_insert(L, -2);
            lua_rawset(L, -3);
        } else {
            lua_rawseti(L, -2, i++);
        }
    }
}

/* Numbers are exact: integers where they are written as such; null is a value of its own. */
static void push_json(lua_State *L, const ImportRequest *r, const JsonNode *n) {
    int64_t whole;
    double number = 0;
    luaL_checkstack(L, 8, "JSON");
    switch (n->type) {
    case JSON_NULL: lua_pushlightuserdata(L, NULL); break;
    case JSON_FALSE: lua_pushboolean(L, 0); break;
    case JSON_TRUE: lua_pushboolean(L, 1); break;
    case JSON_NUMBER:
        if (json_int64(n, &whole)) lua_pushinteger(L, whole);
        else if (json_double(n, &number)) lua_pushnumber(L, number);
        else importer_refuse(L, r, n, "a number that a double holds", n->text);
        break;
    case JSON_STRING: push_text(L, r, n, n->text); break;
    default: push_box(L, r, n);
    }
}

/* { NAME = { 2, 3, dtype = "F32" }, ... } */
static void push_tensors(lua_State *L, const CheckpointFolder *c) {
    lua_createtable(L, 0, c->count);
    for (int32_t i = 0; i < c->count; i++) {
        const Tensor *t = c->tensor[i].tensor;
        lua_pushstring(L, t->name);
        lua_createtable(L, t->rank, 1);
        for (int d = 0; d < t->rank; d++) {
            lua_pushinteger(L, t->shape[d]);
            lua_rawseti(L, -2, d + 1);
        }
        lua_pushstring(L, dtype_name(t->dtype));
        lua_setfield(L, -2, "dtype");
        lua_rawset(L, -3);
    }
}

/* Of all tensors. */
static int64_t count_numbers(const CheckpointFolder *c) {
    int64_t n = 0;
    for (int32_t i = 0; i < c->count; i++)
        if (!checked_size(n + c->tensor[i].tensor->count, 1, &n)) return INT64_MAX;
    return n;
}

/* The name as an identifier, which models are called by. */
static void push_identifier(lua_State *L, const char *name) {
    char text[65];
    size_t n = 0;
    if (!isalpha((unsigned char)*name)) text[n++] = 'm';
    for (; *name && n < 64; name++)
        text[n++] = (unsigned char)*name < 128 && isalnum((unsigned char)*name) ? *name : '_';
    lua_pushlstring(L, text, n);
}

static void set_string(lua_State *L, const char *field, const char *value) {
    if (!value) return;
    lua_pushstring(L, value);
    lua_setfield(L, -2, field);
}

static void push_request(lua_State *L, const ImportRequest *r) {
    lua_newtable(L);
    push_json(L, r, r->config->node);
    lua_setfield(L, -2, "config");
    push_tensors(L, r->folder);
    lua_setfield(L, -2, "tensors");
    lua_pushinteger(L, r->folder->count);
    lua_setfield(L, -2, "stored");
    lua_pushinteger(L, count_numbers(r->folder));
    lua_setfield(L, -2, "numbers");
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    push_identifier(L, r->name);
    lua_setfield(L, -2, "identifier");
    lua_pushboolean(L, r->importer != NULL);
    lua_setfield(L, -2, "own");
    set_string(L, "path", r->folder->path);
    set_string(L, "name", r->name);
    set_string(L, "tokenizer", r->tokenizer);
    set_string(L, "residual", r->residual);
    set_string(L, "route", r->route);
}

/* == What they return ===================================================== */

/* The strings of result.spec, a line each. */
static void read_spec(lua_State *L, int result, Text *spec) {
    lua_getfield(L, result, "spec");
    lua_Integer i = 1;
    size_t n;
    for (; lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
        const char *line = lua_tolstring(L, -1, &n);
        text_bytes(spec, line, n);
        if (!n || line[n - 1] != '\n') text_bytes(spec, "\n", 1);
        lua_pop(L, 1);
    }
    if (!lua_isnil(L, -1) || i == 1)
        spec_fail(L, "importer: expected the lines of a spec, found %s", luaL_typename(L, -1));
    lua_pop(L, 2);
}

static const char library_key[] = "library"; /* in Lua's registry */

/* (importing): everything that can go wrong */
static int run_importer(lua_State *L) {
    const Importing *i = lua_touserdata(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, library_key);
    int library = 2;
    library_load(L, "import/kit.lua");
    lua_getfield(L, library, "library");
    lua_setupvalue(L, -2, 1);
    push_request(L, i->r);
    lua_call(L, 1, 1);
    int kit = lua_gettop(L);
    lua_getfield(L, kit, "run");
    if (i->r->importer) {
        files_open(L, i->r->importer);
        files_spec(L, i->r->importer);
        lua_getfield(L, kit, "environment");
        lua_setupvalue(L, -2, 1);
        lua_call(L, 0, 1);
    } else {
        lua_pushnil(L);
    }
    lua_call(L, 1, 1);
    int result = lua_gettop(L);
    read_spec(L, result, &i->out->spec);
    importer_plan(L, result, i->r, i->out);
    return 0;
}

static int open_library(lua_State *L) {
    front_library(L);
    lua_setfield(L, LUA_REGISTRYINDEX, library_key);
    return 0;
}

/* Where errors are that have no place of their own. */
static void set_place(Front *f, const ImportRequest *r) {
    char *place = NULL;
    const char *file = r->importer;
    if (!file && asprintf(&place, "%s/config.json", r->folder->path) < 0) place = NULL;
    f->m->file = graph_string(f->g, file ? file : place ? place : r->folder->path);
    free(place);
    snprintf(f->stuck, sizeof f->stuck, "%s", f->m->file);
}

Front *importer_open(void) {
    Front *f = front_new(&import_limits);
    if (f) f->opened = front_call(f, open_library, NULL);
    return f;
}

void importer_close(Front *f) {
    if (!f) return;
    Model *m = f->m;
    front_free(f);
    spec_free(m);
}

int importer_ask(Front *f, const ImportRequest *r, Imported *out, Error *e) {
    *out = (Imported){ 0 };
    if (!f) return error_memory(e, r->folder->path, 0);
    set_place(f, r);
    *e = (Error){ 0 };
    f->left = f->limit.instructions;
    int status = f->opened;
    if (!status) status = front_call(f, run_importer, &(Importing){ r, out });
    if (status) spec_report(f, status, e);
    if (f->L && !f->opened) lua_settop(f->L, 0);
    if (!e->status) status = text_status(&out->spec, e);
    if (e->status) importer_free(out);
    return e->status;
}

int importer_run(const ImportRequest *r, Imported *out, Error *e) {
    Front *f = importer_open();
    int status = importer_ask(f, r, out, e);
    importer_close(f);
    return status;
}

void importer_free(Imported *out) {
    text_free(&out->spec);
    plan_free(&out->plan);
    free(out->same);
    *out = (Imported){ 0 };
}
