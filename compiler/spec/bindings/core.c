/* SPDX-License-Identifier: MIT
** Functions for the library's Lua files: parameters and outputs of the graph, properties of the
** model, and the user's position.  A spec cannot reach any of them.
*/
#include "bindings.h"
#include "file_limits.h"
#include "nearest.h"

#include <stdio.h>
#include <string.h>

/* == Parameters =========================================================== */

static Init to_init(lua_State *L, const char *what, int kind, int value, const Shape *s) {
    static const char *const kinds[] = { "constant", "normal", "list", "uniform", NULL };
    Init init = { .kind = (InitKind)luaL_checkoption(L, kind, NULL, kinds) };
    if (init.kind == INIT_CONSTANT || init.kind == INIT_NORMAL) {
        init.value = luaL_checknumber(L, value);
        return init;
    }
    int64_t n = tensor_list_length(L, value, what), count = shape_count(s);
    init.points = n;
    if (n != count && init.kind == INIT_LIST)
        spec_fail(L, "%s: expected as many initial values as elements, %I, found %I", what,
                  (LUAI_UACINT)count, (LUAI_UACINT)n);
    double *list = lua_newuserdatauv(L, (size_t)n * sizeof *list, 0);
    for (int64_t i = 0; i < n; i++) {
        if (lua_rawgeti(L, value, i + 1) != LUA_TNUMBER)
            spec_fail(L, "%s: expected initial values that are numbers, found a %s", what,
                      luaL_typename(L, -1));
        list[i] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    init.list = list;
    return init;
}

static int64_t checked_count(lua_State *L, const char *what, const char *name, const Shape *s) {
    int64_t count = 1;
    bool several = strchr(name, '*');
    if (several && !s->rank)
        spec_fail(L, "%s: expected a first axis that says how many '%s' are, found none", what,
                  name);
    if (several && s->dim[0] > SAFETENSORS_TENSORS)
        spec_fail(L, "%s: expected at most %d tensors '%s', found %I", what, SAFETENSORS_TENSORS,
                  name, (LUAI_UACINT)s->dim[0]);
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 1)
            spec_fail(L, "%s: expected sizes of at least 1 for '%s', found %I", what, name,
                      (LUAI_UACINT)s->dim[i]);
        if (!checked_size(count, s->dim[i], &count))
            spec_fail(L, "%s: expected fewer than 2^48 elements in '%s', found more", what, name);
    }
    return count;
}

/* A parameter of that name exists with another shape. */
static _Noreturn void refuse_shape(lua_State *L, const char *what, const char *name,
                                   const Shape *s) {
    Graph *g = front(L)->g;
    int i = 0;
    while (strcmp(g->param[i].node->attr->name, name))
        i++;
    const Node *n = g->param[i].node;
    if (shape_equal(&n->shape, s))
        spec_fail(L, "%s: expected '%s' to be a %s as at %s:%d, found a %s", what, name,
                  n->attr->buffer ? "buffer" : "parameter", n->loc.file, n->loc.line,
                  n->attr->buffer ? "parameter" : "buffer");
    const char *has = lua_pushstring(L, shape_text(g, &n->shape));
    spec_fail(L, "%s: expected '%s' with the shape %s that it got at %s:%d, found %s", what, name,
              has, n->loc.file, n->loc.line, shape_text(g, s));
}

/* Of the newest parameter. */
static void remember_unread(Front *f, Unread unread) {
    int at = f->g->nparam - 1;
    f->unread = graph_grown(f->g, f->unread, at, &f->unreadcap, sizeof *f->unread);
    f->unread[at] = unread;
}

/* true: of code of the user's; "spare": of what is asked for more than it may be used */
static Unread to_unread(lua_State *L, int at) {
    if (lua_type(L, at) == LUA_TSTRING) return UNREAD_SPARE;
    return lua_toboolean(L, at) ? UNREAD_REFUSED : UNREAD_NOTED;
}

/* A parameter or a buffer of a name and a shape, the same one if it exists.  What asks for it is
** first, in the place of the site: messages count name and shape as they are typed.  The last
** argument is what to_unread takes. */
static int core_named(lua_State *L, bool buffer) {
    Front *f = front(L);
    Shape s;
    const char *error, *what = luaL_checkstring(L, 1), *name = names_checked(L, 2);
    tensor_list_shape(L, 3, what, &s);
    int64_t count = checked_count(L, what, name, &s), total = f->m->parameters;
    if (buffer && strchr(name, '*'))
        spec_fail(L, "%s: expected a name without '*', found '%s'", what, name);
    int before = f->g->nparam;
    Init init = to_init(L, what, 4, 5, &s);
    f->g->loc = spec_here(L);
    Node *n = (buffer ? graph_buffer : graph_param)(f->g, name, s, init, &error);
    if (!n) refuse_shape(L, what, name, &s);
    if (f->g->nparam == before) return tensor_push(L, n);
    remember_unread(f, to_unread(L, 6));
    if (!checked_size(total + count, 1, &f->m->parameters))
        spec_fail(L, "expected fewer than 2^48 parameters, found more");
    f->built += sizeof *n + sizeof(Param)
        + (init.list ? (size_t)init.points * sizeof *init.list : 0);
    return tensor_push(L, n);
}

/* param(what, name, {sizes}, "constant" | "normal" | "list" | "uniform", value, own); own: of code
** of the user's */
static int call_param(lua_State *L) { return core_named(L, false); }
static int call_buffer(lua_State *L) { return core_named(L, true); }

/* == The graph ============================================================ */

static int call_output(lua_State *L) {
    graph_output(front(L)->g, luaL_checkstring(L, 1), tensor_get(L, 2, "output"));
    return 0;
}

static int call_site(lua_State *L) {
    front(L)->g->site = graph_string(front(L)->g, luaL_checkstring(L, 1));
    return 0;
}

/* form(x): "[tokens,8]" of a tensor, nil of anything else */
static int call_form(lua_State *L) {
    Node **p = tensor_at(L, 1);
    if (!p) return 0;
    lua_pushstring(L, shape_text((*p)->g, &(*p)->shape));
    return 1;
}

/* operation(x): "mul" of a tensor, a parameter's name, nil of anything else */
static int call_operation(lua_State *L) {
    Node **p = tensor_at(L, 1);
    if (!p) return 0;
    lua_pushstring(L, (*p)->op == OP_param ? (*p)->attr->name : op_info[(*p)->op].name);
    return 1;
}

/* read(site, sources, result) */
static int call_read(lua_State *L) {
    Front *f = front(L);
    Model *m = f->m;
    m->read = graph_grown(f->g, m->read, m->nread, &f->readcap, sizeof *m->read);
    m->read[m->nread++] = (DepthRead){ graph_string(f->g, luaL_checkstring(L, 1)),
                                       luaL_checkinteger(L, 2), tensor_get(L, 3, "read") };
    return 0;
}

/* source(x): the embedding or a sublayer's output, given to the mixer; returns x */
static int call_source(lua_State *L) {
    Front *f = front(L);
    Model *m = f->m;
    m->source = graph_grown(f->g, m->source, m->nsource, &f->sourcecap, sizeof *m->source);
    m->source[m->nsource++] = tensor_get(L, 1, "source");
    lua_settop(L, 1);
    return 1;
}

/* == The facts of the model =============================================== */

static int64_t integer_field(lua_State *L, const char *name) {
    lua_getfield(L, 1, name);
    int64_t value = luaL_checkinteger(L, -1);
    lua_pop(L, 1);
    return value;
}

static double number_field(lua_State *L, const char *name) {
    lua_getfield(L, 1, name);
    double value = luaL_checknumber(L, -1);
    lua_pop(L, 1);
    return value;
}

static const char *string_field(lua_State *L, const char *name) {
    lua_getfield(L, 1, name);
    const char *value = graph_string(front(L)->g, lua_tostring(L, -1));
    lua_pop(L, 1);
    return value;
}

/* finish { name = ..., lr = ..., ... }: a field of Model each */
static int call_finish(lua_State *L) {
    Model *m = front(L)->m;
    m->name = string_field(L, "name");
    m->tokenizer = string_field(L, "tokenizer");
    m->mixer = string_field(L, "mixer");
    m->vocab = integer_field(L, "vocab");
    m->context = integer_field(L, "context");
    m->dim = integer_field(L, "dim");
    m->layers = integer_field(L, "layers");
    m->sublayers = integer_field(L, "sublayers");
    m->adapter_scale = number_field(L, "adapter_scale");
#define SETTING(type, name, from) m->train.name = (type)from##_field(L, #name);
#include "settings.def"
    return 0;
}

/* == The user and the library ============================================= */

static int push_loc(lua_State *L, Loc at) {
    lua_pushstring(L, at.file);
    lua_pushinteger(L, at.line);
    return 2;
}

/* spec_here(): file and line to blame */
static int call_here(lua_State *L) { return push_loc(L, spec_here(L)); }

/* defined(f): file and line of a function of the user's, spec_here() of others */
static int call_defined(lua_State *L) {
    lua_Debug ar;
    lua_pushvalue(L, 1);
    lua_getinfo(L, ">S", &ar);
    if (*ar.source != '@') return push_loc(L, spec_here(L));
    return push_loc(
        L, (Loc){ .file = graph_string(front(L)->g, ar.source + 1), .line = ar.linedefined });
}

/* own(f): whether the user wrote it */
static int call_own(lua_State *L) {
    lua_Debug ar;
    lua_settop(L, 1);
    lua_getinfo(L, ">S", &ar);
    lua_pushboolean(L, *ar.source == '@');
    return 1;
}

/* module(): the name of the innermost Lua file, without folder and ".lua";
** files called init.lua and those in between that only wrap are skipped by
** asking from 'level' callers up */
static int call_module(lua_State *L) {
    lua_Debug ar;
    for (int level = (int)luaL_checkinteger(L, 1); lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "S", &ar);
        if (*ar.what == 'C') continue;
        const char *slash = strrchr(ar.source, '/'), *name = slash ? slash + 1 : ar.source + 1;
        const char *dot = strrchr(name, '.');
        lua_pushlstring(L, name, dot ? (size_t)(dot - name) : strlen(name));
        return 1;
    }
    return 0;
}

static int call_wrapped(lua_State *L) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* wrap(f): f as a C function, so that a tail call of the user's keeps his
** frame, and with it his line, below it */
static int call_wrap(lua_State *L) {
    lua_settop(L, 1);
    lua_pushcclosure(L, call_wrapped, 1);
    return 1;
}

/* load(name, environment): runs a file of the library's; more arguments are its own */
static int call_load(lua_State *L) {
    int n = lua_gettop(L);
    library_load(L, luaL_checkstring(L, 1));
    if (!lua_isnil(L, 2)) {
        lua_pushvalue(L, 2);
        lua_setupvalue(L, -2, 1);
    }
    lua_replace(L, 2);
    lua_call(L, n - 2, LUA_MULTRET);
    return lua_gettop(L) - 1;
}

static int push_names(lua_State *L, const Embedded *file, int count) {
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushstring(L, file[i].name);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* files(): the names of the library's files, in a fixed order; importers(): of those of import/ */
static int call_files(lua_State *L) { return push_names(L, library_file, library_count); }
static int call_importers(lua_State *L) { return push_names(L, importers_file, importers_count); }

/* requirer(environment): require for the spec's folder */
static int call_requirer(lua_State *L) {
    lua_settop(L, 1);
    lua_newtable(L);
    lua_pushcclosure(L, files_require, 2);
    return 1;
}

/* limit(what, found): too many layers */
static int call_limit(lua_State *L) {
    int64_t most = front(L)->limit.layers;
    if (luaL_checkinteger(L, 2) > most)
        spec_stop(L, 3, "%s: expected at most %I layers, found %s", luaL_checkstring(L, 1),
                  (LUAI_UACINT)most, lua_tostring(L, 2));
    return 0;
}

/* distance(a, b): letters to change to make one word of the other */
static int call_distance(lua_State *L) {
    lua_pushinteger(L, name_distance(luaL_checkstring(L, 1), luaL_checkstring(L, 2)));
    return 1;
}

/* The tokenizers: { { name, least }, ... }; least: the smallest vocabulary. */
static void push_tokenizers(lua_State *L) {
    static const struct {
        const char *name;
        lua_Integer least;
    } row[] = {
#define TOKENIZER(name, least) { #name, least },
#include "tokenizers.def"
#undef TOKENIZER
    };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        lua_newtable(L);
        lua_pushstring(L, row[i].name);
        lua_setfield(L, -2, "name");
        lua_pushinteger(L, row[i].least);
        lua_setfield(L, -2, "least");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static const luaL_Reg functions[] = { { "at", spec_call_at },
                                      { "attempt", lists_call_attempt },
                                      { "defined", call_defined },
                                      { "distance", call_distance },
                                      { "buffer", call_buffer },
                                      { "field_line", places_call_field },
                                      { "files", call_files },
                                      { "fill", values_fill },
                                      { "zeros", values_zeros },
                                      { "finish", call_finish },
                                      { "form", call_form },
                                      { "here", call_here },
                                      { "importers", call_importers },
                                      { "identifier", names_call_identifier },
                                      { "limit", call_limit },
                                      { "list_of", lists_call_of },
                                      { "load", call_load },
                                      { "mask_of", lists_call_mask },
                                      { "matches", tune_call_matches },
                                      { "matching", tune_call_matching },
                                      { "module", call_module },
                                      { "note", notes_call },
                                      { "operation", call_operation },
                                      { "option", options_call_declare },
                                      { "option_undeclared", options_call_undeclared },
                                      { "output", call_output },
                                      { "own", call_own },
                                      { "param", call_param },
                                      { "parameters", tune_call_parameters },
                                      { "print", notes_call_print },
                                      { "read", call_read },
                                      { "requirer", call_requirer },
                                      { "rule", rules_call },
                                      { "statistic", rules_call_statistic },
                                      { "site", call_site },
                                      { "source", call_source },
                                      { "tokenizer_file", tokenizer_call },
                                      { "tune", tune_call },
                                      { "work_on", lists_call_work_on },
                                      { "wrap", call_wrap },
                                      { NULL, NULL } };

void core_open(lua_State *L) {
    luaL_newlib(L, functions);
    sandbox_open(L);
    lua_setfield(L, -2, "lua");
    ops_open(L);
    lua_setfield(L, -2, "ops");
    ops_targets(L);
    lua_setfield(L, -2, "targets");
    push_tokenizers(L);
    lua_setfield(L, -2, "tokenizers");
    options_push(L);
    lua_setfield(L, -2, "chosen");
    lua_pushboolean(L, front(L)->dense);
    lua_setfield(L, -2, "dense");
}
