/* SPDX-License-Identifier: MIT
** Options that a spec declares with option { }.  The values from the command line go to Lua, which
** reads them by their types (specs/library/options.lua); the results are stored with the model, as
** text.
*/
#include "front.h"

#include "nearest.h"

#include <string.h>

/* == From the command line ================================================ */

/* Of "NAME=VALUE". */
static size_t name_length(const char *word) { return strcspn(word, "="); }

static bool options_is_named(const char *word, const char *name) {
    size_t n = name_length(word);
    return strlen(name) == n && !strncmp(word, name, n);
}

void options_push(lua_State *L) {
    const SpecChoices *c = &front(L)->limit.chosen;
    lua_createtable(L, c->n, 0);
    for (int i = 0; i < c->n; i++) {
        size_t n = name_length(c->word[i]);
        lua_createtable(L, 0, 2);
        lua_pushlstring(L, c->word[i], n);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, c->word[i] + n + 1);
        lua_setfield(L, -2, "text");
        lua_rawseti(L, -2, i + 1);
    }
}

/* == What is declared ===================================================== */

/* A value as -D takes it, or as JSON; NULL or "null" of nil. */
static const char *value_text(lua_State *L, int at, bool json) {
    Graph *g = front(L)->g;
    char number[32];
    Text t = { 0 };
    if (lua_isnil(L, at)) return json ? "null" : NULL;
    if (lua_isinteger(L, at))
        return graph_string(g, lua_pushfstring(L, "%I", lua_tointeger(L, at)));
    if (lua_type(L, at) == LUA_TNUMBER)
        return graph_string(g, print_double(number, lua_tonumber(L, at)));
    if (lua_isboolean(L, at)) return lua_toboolean(L, at) ? "true" : "false";
    if (!json) return graph_string(g, lua_tostring(L, at));
    text_json_string(&t, lua_tostring(L, at));
    const char *kept = graph_string(g, t.at ? t.at : "");
    text_free(&t);
    return kept;
}

static const char *options_kept(lua_State *L, int at) {
    return graph_string(front(L)->g, luaL_checkstring(L, at));
}

enum { DECLARED = 40 }; /* instructions that take as long */

/* The option of that name, which is now declared, if it was before; by number in the registry. */
static const SpecOption *declared_before(lua_State *L, const Model *m, const char *name) {
    static const char key;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) != LUA_TTABLE) {
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
        lua_remove(L, -2);
    }
    bool before = lua_getfield(L, -1, name) == LUA_TNUMBER;
    const SpecOption *o = before ? &m->option[lua_tointeger(L, -1)] : NULL;
    lua_pop(L, 1);
    if (!before) {
        lua_pushinteger(L, m->noption);
        lua_setfield(L, -2, name);
    }
    lua_pop(L, 1);
    return o;
}

/* Memory of the graph's, which the spec has no other limit of. */
static void charge_option(lua_State *L, const SpecOption *o) {
    Front *f = front(L);
    f->built += sizeof *o + strlen(o->name) + strlen(o->wanted) + strlen(o->help);
    sandbox_charge(L, DECLARED + f->limit.chosen.n);
}

/* option(line, name, value, default, wanted, help, chosen); line nil: spec_here() */
int options_call_declare(lua_State *L) {
    Front *f = front(L);
    Model *m = f->m;
    const SpecChoices *c = &f->limit.chosen;
    const char *name = options_kept(L, 2);
    Loc at = spec_here(L);
    lua_settop(L, 7);
    if (f->settled)
        spec_fail(L, "option: expected it before the model is made, found it in what makes layers");
    if (!lua_isnil(L, 1)) at.line = (int)lua_tointeger(L, 1);
    const SpecOption *before = declared_before(L, m, name);
    if (before)
        spec_fail_at(L, at, "option: expected '%s' to be declared once, found it at %s:%d too",
                     name, before->at.file, before->at.line);
    for (int i = 0; c->used && i < c->n; i++)
        c->used[i] |= options_is_named(c->word[i], name);
    m->option = graph_grown(f->g, m->option, m->noption, &f->optioncap, sizeof *m->option);
    m->option[m->noption++] = (SpecOption){ .name = name,
                                            .value = value_text(L, 3, false),
                                            .json = value_text(L, 3, true),
                                            .initial = value_text(L, 4, false),
                                            .wanted = options_kept(L, 5),
                                            .help = options_kept(L, 6),
                                            .chosen = lua_toboolean(L, 7),
                                            .at = at };
    charge_option(L, &m->option[m->noption - 1]);
    return 0;
}

/* == Words that nobody declares =========================================== */

static const SpecOption *options_find_option(const Model *m, const char *word) {
    for (int i = 0; i < m->noption; i++)
        if (options_is_named(word, m->option[i].name)) return &m->option[i];
    return NULL;
}

/* "blocks (m.lua:3), width (m.lua:4)", and the name that is near the word, if one is */
static const char *list_options(const Model *const *m, int n, const char *word, Text *t) {
    const char *near = NULL;
    char name[NAME_FAR];
    print_text(name, sizeof name, "%.*s", (int)name_length(word), word);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < m[k]->noption; i++) {
            const SpecOption *o = &m[k]->option[i];
            text_add(t, "%s%s (%s:%d)", t->length ? ", " : "", o->name, o->at.file, o->at.line);
            if (!near) near = nearest_name(name, &o->name, 1);
        }
    return near;
}

static void describe_unused(const char *word, const Model *const *m, int n, Text *t) {
    Text list = { 0 };
    const char *near = list_options(m, n, word, &list);
    int length = (int)name_length(word);
    text_add(t, "-D %.*s: expected ", length, word);
    if (list.length)
        text_add(t, "an option that the spec%s: %s; found '%.*s'",
                 n > 1 ? "s declare" : " declares", list.at, length, word);
    else
        text_add(t,
                 "a spec that declares it with option { %.*s = ... }, found that %s has no options",
                 length, word, n > 1 ? "none of them" : m[0]->file);
    if (near) text_add(t, "; did you mean '%s'?", near);
    if (list.failed) t->failed = true;
    text_free(&list);
}

/* option_undeclared(): fails where one was chosen that this spec does not declare, if it must */
int options_call_undeclared(lua_State *L) {
    Front *f = front(L);
    const Model *m = f->m;
    const SpecChoices *c = &f->limit.chosen;
    f->settled = true;
    for (int i = 0; !c->used && i < c->n; i++) {
        if (options_find_option(m, c->word[i])) continue;
        Text t = { 0 };
        describe_unused(c->word[i], &m, 1, &t);
        const char *text = graph_string(f->g, t.at ? t.at : "");
        text_free(&t);
        lua_pushstring(L, text);
        f->raised = true;
        return lua_error(L);
    }
    return 0;
}

int spec_options_unused(const SpecChoices *c, const Model *const *m, int n, Error *e) {
    for (int i = 0; i < c->n; i++) {
        if (c->used[i]) continue;
        Text t = { 0 };
        describe_unused(c->word[i], m, n, &t);
        error_set(e, STATUS_USER, "%s", t.at ? t.at : c->word[i]);
        text_free(&t);
        return e->status;
    }
    return STATUS_OK;
}

/* == Of the finished model ================================================ */

void options_keep(Model *m, Graph *g) {
    const SpecOption *old = m->option;
    m->option = graph_alloc(g, (size_t)m->noption * sizeof *m->option + 1);
    for (int i = 0; i < m->noption; i++)
        m->option[i] = (SpecOption){ .name = graph_string(g, old[i].name),
                                     .value = graph_string(g, old[i].value),
                                     .initial = graph_string(g, old[i].initial),
                                     .json = graph_string(g, old[i].json),
                                     .wanted = graph_string(g, old[i].wanted),
                                     .help = graph_string(g, old[i].help),
                                     .at = graph_loc(g, old[i].at),
                                     .chosen = old[i].chosen };
    Text json = { 0 };
    text_add(&json, "{");
    for (int i = 0; i < m->noption; i++) {
        text_add(&json, i ? ", " : "");
        text_json_string(&json, m->option[i].name);
        text_add(&json, ": %s", m->option[i].json);
    }
    text_add(&json, "}");
    m->options = graph_string(g, json.failed ? "{}" : json.at);
    text_free(&json);
}

void options_hash(const Model *m, Sha256 *h) {
    for (int i = 0; i < m->noption; i++) {
        sha256_add(h, m->option[i].name, strlen(m->option[i].name) + 1);
        sha256_add(h, m->option[i].json, strlen(m->option[i].json) + 1);
    }
}

void spec_options_text(const Model *m, Text *t) {
    size_t width = 0;
    for (int i = 0; i < m->noption; i++) {
        const SpecOption *o = &m->option[i];
        size_t n = strlen(o->name) + strlen(o->value ? o->value : "");
        if (n > width && n < 32) width = n;
    }
    for (int i = 0; i < m->noption; i++) {
        const SpecOption *o = &m->option[i];
        int n = (int)(strlen(o->name) + strlen(o->value ? o->value : ""));
        text_add(t, "  -D %s=%s%*s  %s", o->name, o->value ? o->value : "",
                 n < (int)width ? (int)width - n : 0, "", o->wanted);
        text_add(t, *o->help ? ": %s" : "%s", o->help);
        if (o->chosen && o->initial) text_add(t, " (%s unless chosen)", o->initial);
        text_add(t, "\n");
    }
}
