/* SPDX-License-Identifier: MIT
** Runs a spec: creates a Lua state with the sandbox's limits, runs the library's init.lua, which
** makes the environment, then the spec in that environment, then 'build' of the library, which
** turns the returned model into a graph.
*/
#include "file_limits.h"
#include "front.h"

#include <stdlib.h>
#include <string.h>

static SpecLimits with_defaults(const SpecLimits *given) {
    SpecLimits s = given ? *given : spec_limits;
    if (!s.memory) s.memory = spec_limits.memory;
    if (!s.instructions) s.instructions = spec_limits.instructions;
    if (!s.file) s.file = spec_limits.file;
    if (!s.layers) s.layers = spec_limits.layers;
    if (!s.graph) s.graph = spec_limits.graph;
    if (!(s.seconds > 0)) s.seconds = spec_limits.seconds;
    return s;
}

/* Pushes what init.lua returns: { environment, build, reachable, names, meta }. */
void front_library(lua_State *L) {
    tensor_open(L);
    core_open(L);
    library_load(L, "init.lua");
    lua_insert(L, -2);
    lua_call(L, 1, 1);
}

/* (NULL): the library, which is the same for all specs */
static int spec_prepare(lua_State *L) {
    front_library(L);
    return 1;
}

/* A spec: in a file, or a text that will be one. */
typedef struct SpecSource {
    const char *path, *text;
    size_t size;
} SpecSource;

/* (source, library): everything else that can go wrong happens in here */
static int spec_run(lua_State *L) {
    const SpecSource *s = lua_touserdata(L, 1);
    int library = 2;
    files_open(L, s->path);
    if (s->text) files_text(L, s->path, s->text, s->size);
    else files_spec(L, s->path);
    lua_getfield(L, library, "environment");
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    lua_getfield(L, library, "build");
    lua_insert(L, -2);
    lua_call(L, 1, 0);
    return 0;
}

Front *front_new(const SpecLimits *limits) {
    Front *f = calloc(1, sizeof *f);
    Model *m = calloc(1, sizeof *m);
    if (!f || !m) {
        free(f);
        free(m);
        return NULL;
    }
    f->m = m;
    f->limit = with_defaults(limits);
    f->left = f->limit.instructions;
    f->start = sandbox_seconds();
    f->g = m->graph = graph_new();
    f->L = lua_newstate(sandbox_alloc, f);
    if (!f->L) return f;
    *(Front **)lua_getextraspace(f->L) = f;
    sandbox_hook(f->L);
    return f;
}

void front_free(Front *f) {
    lua_State *L = f->L;
    f->L = NULL; /* nobody to blame while closing */
    if (L) lua_close(L);
    heap_close(&f->heap);
    files_free(f);
    free(f);
}

/* Calls f(argument, ...) with nothing that escapes; what the last call left is what follows, what
** this one returns is left, or the error. */
int front_call(Front *f, lua_CFunction function, void *argument) {
    if (!f->L) return LUA_ERRMEM;
    int more = lua_gettop(f->L);
    lua_pushcfunction(f->L, spec_handle_error);
    lua_insert(f->L, 1);
    lua_pushcfunction(f->L, function);
    lua_insert(f->L, 2);
    lua_pushlightuserdata(f->L, argument);
    lua_insert(f->L, 3);
    int status = lua_pcall(f->L, 1 + more, LUA_MULTRET, 1);
    lua_remove(f->L, 1);
    return status;
}

/* == The finished model =================================================== */

typedef struct Clash {
    Node *param;
    int64_t tensors; /* of the model */
    char name[MAXNAME + 24];
} Clash;

/* (node): a parameter that a mixer of the user's made and nothing reads */
static int refuse_unread(lua_State *L) {
    const Node *n = lua_touserdata(L, 1);
    spec_fail_at(
        L, n->loc,
        "param: expected a parameter that the model depends on, found '%s', which nothing reads",
        n->attr->name);
}

/* (node): an nll that the logits depend on */
static int refuse_leak(lua_State *L) {
    const Node *n = lua_touserdata(L, 1);
    spec_fail_at(
        L, n->loc,
        "nll: expected it to be part of a loss alone, found it in what the model predicts");
}

/* What no output needs goes, parameters included: they would never be trained.
** Returns one that its mixer must have meant to read, or NULL. */
static Node *note_unread(Front *f, const Graph *kept) {
    const Graph *all = f->g;
    char text[300];
    for (int i = 0, k = 0; i < all->nparam; i++) {
        const char *name = all->param[i].node->attr->name;
        if (k < kept->nparam && !strcmp(kept->param[k].node->attr->name, name)) k++;
        else if (f->unread[i] == UNREAD_REFUSED) return all->param[i].node;
        else if (f->unread[i] == UNREAD_NOTED) {
            snprintf(text, sizeof text,
                     "parameter '%s' is left out: nothing the model computes depends on it", name);
            spec_note(f, text);
        }
    }
    return NULL;
}

/* (clash): a parameter one of whose tensors has a name that is taken */
static int refuse_name(lua_State *L) {
    const Clash *c = lua_touserdata(L, 1);
    if (!*c->name)
        spec_fail_at(L, c->param->loc, "param: expected at most %d tensors in all, found %I",
                     SAFETENSORS_TENSORS, (LUAI_UACINT)c->tensors);
    spec_fail_at(L, c->param->loc,
                 "param: expected names of their own for '%s', found '%s', which is another's too",
                 c->param->attr->name, c->name);
}

/* More tensors than a file has, or two of one name: the parameter that is to blame. */
static bool find_clash(const Graph *g, Clash *c) {
    *c = (Clash){ .tensors = graph_tensors(g) };
    if (c->tensors <= SAFETENSORS_TENSORS || c->tensors == g->nparam)
        c->param = tensor_names_clash(g, c->name, sizeof c->name);
    else
        for (int i = 0; i < g->nparam; i++)
            if (!c->param || param_tensors(g->param[i].node) > param_tensors(c->param))
                c->param = g->param[i].node;
    return c->param;
}

static void keep_string(Graph *g, const char **s) { *s = graph_string(g, *s); }

/* What the model lists, in 'g': 'twin' by the nodes' numbers in the old graph. */
static void keep_lists(Model *m, Graph *g, Node *const *source, Node *const *twin) {
    const DepthRead *read = m->read;
    const char **note = m->note;
    m->source = graph_alloc(g, (size_t)m->nsource * sizeof *m->source);
    for (int i = 0; i < m->nsource; i++)
        m->source[i] = twin[source[i]->id];
    m->read = graph_alloc(g, (size_t)m->nread * sizeof *m->read);
    m->note = graph_alloc(g, (size_t)m->nnote * sizeof *m->note);
    for (int i = 0; i < m->nread; i++)
        m->read[i] = (DepthRead){ graph_string(g, read[i].site), read[i].sources,
                                  twin[read[i].result->id] };
    for (int i = 0; i < m->nnote; i++)
        m->note[i] = graph_string(g, note[i]);
}

/* Moves the model to a graph of its own, with what the outputs need; 0, or the
** status of front_call. */
static int spec_finish(Front *f) {
    static const char *const outputs[] = { "logits", "nll", "cross_entropy", "loss", NULL };
    Model *m = f->m;
    Node **twin = graph_alloc(f->g, ((size_t)f->g->n + 1) * sizeof *twin), **source = m->source;
    Graph *g = graph_extract_twins(f->g, rules_outputs(f->g, outputs), twin);
    graph_number_lists(g);
    Node *unread = note_unread(f, g), *leak = causal_leak(g, graph_find(g, "logits"));
    if (unread || leak) {
        int status = unread ? front_call(f, refuse_unread, unread)
                            : front_call(f, refuse_leak, leak);
        graph_free(g);
        return status;
    }
    Clash clash;
    if (find_clash(g, &clash)) {
        int status = front_call(f, refuse_name, &clash);
        graph_free(g);
        return status;
    }
    keep_lists(m, g, source, twin);
    options_keep(m, g);
    keep_string(g, &m->name);
    keep_string(g, &m->file);
    keep_string(g, &m->tokenizer);
    keep_string(g, &m->mixer);
    causal_sites(g, graph_find(g, "logits"), &m->acausal, &m->ahead);
    keep_string(g, &m->acausal);
    keep_string(g, &m->ahead);
    m->parameters = 0;
    for (int i = 0; i < g->nparam; i++)
        m->parameters += shape_count(&g->param[i].node->shape);
    m->rules = rules_graph(f->g, g);
    files_hash(f);
    files_list(f, g);
    tokenizer_carry(f);
    graph_free(f->g);
    f->g = m->graph = g;
    return 0;
}

/* == Entry points ========================================================= */

Front *spec_open(const SpecLimits *limits, bool dense) {
    Front *f = front_new(limits);
    if (!f) return NULL;
    f->dense = dense;
    f->opened = front_call(f, spec_prepare, NULL);
    return f;
}

static Model *read_source(Front *f, SpecSource source, Error *e) {
    const char *path = source.path;
    *e = (Error){ 0 };
    if (!f) {
        error_set(e, STATUS_LIMIT, "expected memory to read a spec with, found none left");
        return NULL;
    }
    Model *m = f->m;
    m->file = graph_string(f->g, path);
    snprintf(f->stuck, sizeof f->stuck, "%s:1", path);
    int status = f->opened;
    if (!status) status = front_call(f, spec_run, &source);
    if (!status) status = spec_finish(f);
    if (status) spec_report(f, status, e);
    front_free(f);
    if (!status) return m;
    spec_free(m);
    return NULL;
}

Model *spec_read(Front *f, const char *path, Error *e) {
    return read_source(f, (SpecSource){ .path = path }, e);
}

Model *spec_load_text(const char *path, const char *text, size_t size, const char *tokenizer,
                      const SpecLimits *limits, Error *e) {
    Front *f = spec_open(limits, false);
    if (f) f->tokenizer_from = tokenizer;
    return read_source(f, (SpecSource){ path, text, size }, e);
}

Model *spec_load(const char *path, const SpecLimits *limits, Error *e) {
    return spec_read(spec_open(limits, false), path, e);
}

Model *spec_load_dense(const char *path, const SpecLimits *limits, Error *e) {
    return spec_read(spec_open(limits, true), path, e);
}

void spec_free(Model *m) {
    if (!m) return;
    graph_free(m->graph);
    if (m->rules) graph_free(m->rules);
    free(m->tokenizer_file.bytes);
    free(m);
}

static int list_reachable(lua_State *L) {
    FILE *f = lua_touserdata(L, 1);
    front_library(L);
    lua_getfield(L, -1, "reachable");
    lua_call(L, 0, 1);
    fputs(lua_tostring(L, -1), f);
    return 0;
}

/* Writes the strings that a function of the library returns. */
static int list_strings(lua_State *L, const char *function, const char *format) {
    FILE *f = lua_touserdata(L, 1);
    front_library(L);
    lua_getfield(L, -1, function);
    lua_call(L, 0, 1);
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TSTRING; i++, lua_pop(L, 1))
        fprintf(f, format, lua_tostring(L, -1));
    return 0;
}

static int list_annotations(lua_State *L) { return list_strings(L, "meta", "%s\n"); }

static int list_names(lua_State *L) { return list_strings(L, "names", "  \"%s\",\n"); }

/* Runs one that only looks at the library; 0, or 1 if it failed. */
static int ask_library(lua_CFunction question, FILE *file) {
    Front *f = front_new(NULL);
    if (!f) return 1;
    Model *m = f->m;
    int status = front_call(f, question, file);
    front_free(f);
    spec_free(m);
    return status != 0;
}

int spec_reachable(FILE *file) { return ask_library(list_reachable, file); }

int spec_luacheck(FILE *file) {
    fputs("-- What luacheck has to know of Strata specs; generated by 'strata init'.\nstd = "
          "\"none\"\nunused_args = false\n"
          "max_line_length = false\nread_globals = {\n  \"require\",\n",
          file);
    int status = ask_library(list_names, file);
    fputs("}\n", file);
    return status;
}

int spec_annotations(FILE *file) {
    spec_ops_annotations(file);
    return ask_library(list_annotations, file);
}
