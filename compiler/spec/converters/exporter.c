/* SPDX-License-Identifier: MIT
** Running an exporter; see exporter.h. It is called through specs/library/export/kit.lua. */
#include "exporter.h"

#include <stdlib.h>
#include <string.h>

#include "importer_plan.h"

/* As importers', which may meet as many tensors; the spec is the one that the model is of. */
static SpecLimits export_limits(const ExportRequest *r) {
    SpecLimits l = *r->limits;
    l.memory = (size_t)512 << 20;
    l.instructions = 1000 * 1000 * 1000;
    l.console = NULL; /* what it prints it has printed */
    return l;
}

typedef struct Exporting {
    const ExportRequest *r;
    Exported *out;
} Exporting;

static void push_shapes(lua_State *L, const CheckpointFolder *c) {
    lua_createtable(L, 0, c->count);
    for (int32_t i = 0; i < c->count; i++) {
        const Tensor *t = c->tensor[i].tensor;
        lua_pushstring(L, t->name);
        lua_createtable(L, t->rank, 0);
        for (int d = 0; d < t->rank; d++) {
            lua_pushinteger(L, t->shape[d]);
            lua_rawseti(L, -2, d + 1);
        }
        lua_rawset(L, -3);
    }
}

static bool take_string(lua_State *L, int result, const char *field, char *to, size_t size) {
    bool is = lua_getfield(L, result, field) == LUA_TSTRING;
    if (is) snprintf(to, size, "%s", lua_tostring(L, -1));
    lua_pop(L, 1);
    return is;
}

/* { type, key, value } on top of the stack */
static void add_pair(lua_State *L, Gguf *g) {
    int at = lua_gettop(L);
    lua_rawgeti(L, at, 1);
    lua_rawgeti(L, at, 2);
    lua_rawgeti(L, at, 3);
    const char *type = lua_tostring(L, at + 1), *key = lua_tostring(L, at + 2);
    if (!type || !key) spec_fail(L, "exporter: expected metadata as { type, key, value }");
    if (!strcmp(type, "string")) gguf_string(g, key, luaL_checkstring(L, at + 3));
    else if (!strcmp(type, "f32")) gguf_f32(g, key, (float)luaL_checknumber(L, at + 3));
    else if (!strcmp(type, "bool")) gguf_bool(g, key, lua_toboolean(L, at + 3));
    else gguf_u32(g, key, (uint32_t)luaL_checkinteger(L, at + 3));
    lua_settop(L, at - 1);
}

static void read_metadata(lua_State *L, int result, Gguf *g) {
    if (lua_getfield(L, result, "metadata") != LUA_TTABLE)
        spec_fail(L, "exporter: expected metadata to be a list, found %s", luaL_typename(L, -1));
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TTABLE; i++)
        add_pair(L, g);
    lua_pop(L, 2);
}

static void read_result(lua_State *L, int result, const Exporting *x) {
    size_t n;
    if (take_string(L, result, "refused", x->out->refused, sizeof x->out->refused)) return;
    take_string(L, result, "architecture", x->out->architecture, sizeof x->out->architecture);
    lua_getfield(L, result, "config");
    const char *config = lua_tolstring(L, -1, &n);
    if (config && n) text_add(&x->out->config, "%s\n", config);
    lua_pop(L, 1);
    read_metadata(L, result, &x->out->metadata);
    ImportRequest r = { .folder = x->r->folder, .keep = x->r->keep };
    Imported made = { 0 };
    importer_plan(L, result, &r, &made);
    x->out->plan = made.plan;
    free(made.same);
}

/* (exporting, library) */
static int run_exporter(lua_State *L) {
    const Exporting *x = lua_touserdata(L, 1);
    int library = 2;
    files_open(L, x->r->spec);
    files_spec(L, x->r->spec);
    lua_getfield(L, library, "environment");
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    int spec = lua_gettop(L);
    library_load(L, "export/kit.lua");
    lua_getfield(L, library, "library");
    lua_setupvalue(L, -2, 1);
    lua_newtable(L);
    lua_pushvalue(L, spec);
    lua_setfield(L, -2, "spec");
    lua_pushstring(L, x->r->target);
    lua_setfield(L, -2, "target");
    push_shapes(L, x->r->folder);
    lua_setfield(L, -2, "tensors");
    lua_call(L, 1, 1);
    lua_call(L, 0, 1);
    read_result(L, lua_gettop(L), x);
    return 0;
}

static int open_library(lua_State *L) {
    front_library(L);
    return 1;
}

int exporter_run(const ExportRequest *r, Exported *out, Error *e) {
    *out = (Exported){ 0 };
    const SpecLimits limits = export_limits(r);
    Front *f = front_new(&limits);
    if (!f) return error_memory(e, r->spec, 0);
    f->m->file = graph_string(f->g, r->spec);
    snprintf(f->stuck, sizeof f->stuck, "%s", r->spec);
    Model *m = f->m;
    *e = (Error){ 0 };
    int status = front_call(f, open_library, NULL);
    if (!status) status = front_call(f, run_exporter, &(Exporting){ r, out });
    if (status) spec_report(f, status, e);
    front_free(f);
    spec_free(m);
    if (!e->status) text_status(&out->config, e);
    if (e->status) exporter_free(out);
    return e->status;
}

void exporter_free(Exported *out) {
    text_free(&out->config);
    text_free(&out->metadata.pairs);
    plan_free(&out->plan);
    *out = (Exported){ 0 };
}
