/* SPDX-License-Identifier: MIT
** Turns recipes of importers into views of stored tensors.  A recipe is the name of a stored
** tensor or a table { op = NAME, recipe, ... } that a function of import/kit.lua made.  Tables
** that a user wrote directly are checked in the same way.
*/
#include "importer_plan.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 32 }; /* of recipes in recipes */

/* Views joined along an axis, counted from 0; in an array that belongs to the Lua state. */
typedef struct Recipe {
    TensorView *piece;
    int pieces, axis;
} Recipe;

typedef struct Planning {
    lua_State *L;
    const ImportRequest *r;
    const char *name; /* of the tensor that is planned */
} Planning;

static _Noreturn void raise(lua_State *L, const Error *e, const char *name) {
    Front *f = front(L);
    f->status = e->status == STATUS_USER ? 0 : e->status;
    f->raised = true;
    if (name) lua_pushfstring(L, "%s, for '%s'", e->text, name);
    else lua_pushstring(L, e->text);
    lua_error(L);
    abort();
}

static _Noreturn void plan_refuse(Planning *p, const char *expected, const char *found) {
    Error e = { 0 };
    error_set(&e, STATUS_USER, "%s: importer: %s: expected %s, found %s", p->r->folder->path,
              p->name, expected, found);
    raise(p->L, &e, NULL);
}

/* == Arguments ============================================================ */

/* Integer k of the table at 'at'. */
static int64_t integer_at(Planning *p, int at, int k, const char *what) {
    int whole = 0;
    lua_rawgeti(p->L, at, k);
    lua_Integer n = lua_tointegerx(p->L, -1, &whole);
    if (!whole || lua_type(p->L, -1) != LUA_TNUMBER) plan_refuse(p, what, luaL_typename(p->L, -1));
    lua_pop(p->L, 1);
    return n;
}

static double number_at(Planning *p, int at, int k, const char *what) {
    lua_rawgeti(p->L, at, k);
    if (lua_type(p->L, -1) != LUA_TNUMBER) plan_refuse(p, what, luaL_typename(p->L, -1));
    double x = lua_tonumber(p->L, -1);
    if (!(x - x == 0)) plan_refuse(p, what, "one that is not finite");
    lua_pop(p->L, 1);
    return x;
}

/* Integers of the list that is element k of the table at 'at'; how many. */
static int integers_at(Planning *p, int at, int k, int64_t list[SAFETENSORS_RANK]) {
    if (lua_rawgeti(p->L, at, k) != LUA_TTABLE)
        plan_refuse(p, "a list of axes or sizes", luaL_typename(p->L, -1));
    lua_Unsigned n = lua_rawlen(p->L, -1);
    if (n > SAFETENSORS_RANK) plan_refuse(p, "a list of at most 8 axes or sizes", "a longer one");
    for (int i = 0; i < (int)n; i++)
        list[i] = integer_at(p, lua_gettop(p->L), i + 1, "an integer");
    lua_pop(p->L, 1);
    return (int)n;
}

/* == Recipes ============================================================== */

static Recipe read_recipe(Planning *p, int depth); /* of the value on top, which stays */

static TensorView *new_views(Planning *p, int count) {
    if (count > PLAN_PIECES) plan_refuse(p, "at most 4096 tensors to join", "more");
    return lua_newuserdatauv(p->L, (size_t)count * sizeof(TensorView), 0);
}

static Recipe read_stored(Planning *p) {
    const char *name = lua_tostring(p->L, -1);
    Error e = { 0 };
    StoredTensor *t = folder_find(p->r->folder, name);
    if (!t) {
        error_set(&e, STATUS_USER, "%s: expected a tensor '%s', found none", p->r->folder->path,
                  name);
        raise(p->L, &e, p->name);
    }
    Recipe r = { .piece = new_views(p, 1), .pieces = 1 };
    t->used = true;
    if (view_stored(r.piece, t, &e)) raise(p->L, &e, p->name);
    return r;
}

/* The recipe that is element 1 of the table at 'at'. */
static Recipe read_inner(Planning *p, int at, int depth) {
    lua_rawgeti(p->L, at, 1);
    return read_recipe(p, depth);
}

static Recipe read_concat(Planning *p, int at, int depth) {
    lua_State *L = p->L;
    Recipe all = { .axis = (int)integer_at(p, at, 2, "an axis, an integer") - 1 };
    if (lua_rawgeti(L, at, 1) != LUA_TTABLE) plan_refuse(p, "a list to join", luaL_typename(L, -1));
    int list = lua_gettop(L), n = (int)lua_rawlen(L, list);
    if (n < 1 || lua_rawlen(L, list) > PLAN_PIECES)
        plan_refuse(p, "1 to 4096 tensors to join", "others");
    all.piece = new_views(p, PLAN_PIECES < 16 * n ? PLAN_PIECES : 16 * n);
    int room = PLAN_PIECES < 16 * n ? PLAN_PIECES : 16 * n, top = lua_gettop(L);
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, list, i);
        Recipe one = read_recipe(p, depth);
        if (one.pieces > 1 && one.axis != all.axis)
            plan_refuse(p, "tensors joined along one axis", "two axes");
        if (all.pieces + one.pieces > room) plan_refuse(p, "fewer tensors to join", "more");
        memcpy(all.piece + all.pieces, one.piece, (size_t)one.pieces * sizeof *one.piece);
        all.pieces += one.pieces;
        lua_settop(L, top);
    }
    return all;
}

static void apply_transpose(Planning *p, int at, TensorView *v, Error *e) {
    int64_t list[SAFETENSORS_RANK] = { 2, 1 };
    int axis[SAFETENSORS_RANK], n = 2;
    if (lua_rawgeti(p->L, at, 2) != LUA_TNIL) n = integers_at(p, at, 2, list);
    for (int i = 0; i < n; i++)
        axis[i] = list[i] < 1 || list[i] > SAFETENSORS_RANK ? -1 : (int)list[i] - 1;
    view_transpose(v, axis, n, e);
}

static void apply_slice(Planning *p, int at, TensorView *v, Error *e) {
    int64_t axis = integer_at(p, at, 2, "an axis, an integer");
    int64_t first = integer_at(p, at, 3, "a first element, an integer");
    int64_t count = integer_at(p, at, 4, "a count, an integer");
    if (axis < 1 || axis > SAFETENSORS_RANK) axis = 0;
    view_slice(v, (int)axis - 1, first < 1 ? -1 : first - 1, count, e);
}

/* What is done to one view, or, for numbers, to each. */
static void apply(Planning *p, const char *op, int at, Recipe *r) {
    int64_t list[SAFETENSORS_RANK];
    Error e = { 0 };
    bool plus = !strcmp(op, "plus"), scaled = !strcmp(op, "scaled");
    if (!plus && !scaled && r->pieces > 1)
        plan_refuse(p, "a view of one tensor inside of concat", "one of a concat");
    if (plus || scaled) {
        double x = number_at(p, at, 2, "a number");
        for (int i = 0; i < r->pieces; i++)
            view_calculate(&r->piece[i], plus ? 1 : x, plus ? x : 0);
    } else if (!strcmp(op, "slice")) {
        apply_slice(p, at, r->piece, &e);
    } else if (!strcmp(op, "transpose")) {
        apply_transpose(p, at, r->piece, &e);
    } else if (!strcmp(op, "reshape")) {
        int n = integers_at(p, at, 2, list);
        view_reshape(r->piece, n, list, &e);
    } else {
        plan_refuse(p, "slice, transpose, reshape, concat, plus, scaled or constant", op);
    }
    if (e.status) raise(p->L, &e, p->name);
}

static Recipe read_constant(Planning *p, int at) {
    int64_t list[SAFETENSORS_RANK];
    Error e = { 0 };
    double x = number_at(p, at, 1, "a number");
    int n = integers_at(p, at, 2, list);
    Recipe r = { .piece = new_views(p, 1), .pieces = 1 };
    if (view_constant(r.piece, x, n, list, &e)) raise(p->L, &e, p->name);
    return r;
}

static Recipe read_recipe(Planning *p, int depth) {
    lua_State *L = p->L;
    if (lua_type(L, -1) == LUA_TSTRING) return read_stored(p);
    if (!lua_istable(L, -1))
        plan_refuse(p, "a tensor's name or what is made of one", luaL_typename(L, -1));
    if (depth > DEPTH) plan_refuse(p, "at most 32 steps", "more");
    luaL_checkstack(L, 8, "recipe");
    int at = lua_gettop(L);
    lua_pushstring(L, "op");
    if (lua_rawget(L, at) != LUA_TSTRING)
        plan_refuse(p, "what slice, concat and the others return", "another table");
    const char *op = lua_tostring(L, -1);
    if (!strcmp(op, "constant")) return read_constant(p, at);
    if (!strcmp(op, "concat")) return read_concat(p, at, depth + 1);
    Recipe r = read_inner(p, at, depth + 1);
    apply(p, op, at, &r);
    return r;
}

/* == All of them ========================================================== */

/* The list that is field 'name' of the table at 'result', pushed; its length. */
static lua_Integer plan_list_of(lua_State *L, int result, const char *name) {
    if (lua_getfield(L, result, name) != LUA_TTABLE)
        spec_fail(L, "importer: expected %s to be a list, found %s", name, luaL_typename(L, -1));
    return (lua_Integer)lua_rawlen(L, -1);
}

static void plan_tensors(lua_State *L, int result, const ImportRequest *r, TensorPlan *plan) {
    lua_Integer n = plan_list_of(L, result, "names");
    plan_list_of(L, result, "recipes");
    int names = lua_gettop(L) - 1, recipes = names + 1;
    for (lua_Integer i = 1; i <= n; i++) {
        Error e = { 0 };
        if (lua_rawgeti(L, names, i) != LUA_TSTRING)
            spec_fail(L, "importer: expected tensors by name, found a %s", luaL_typename(L, -1));
        Planning p = { .L = L, .r = r, .name = lua_tostring(L, -1) };
        lua_rawgeti(L, recipes, i);
        Recipe made = read_recipe(&p, 0);
        if (plan_add(plan, p.name, made.piece, made.pieces, made.axis, r->keep, &e))
            raise(L, &e, p.name);
        lua_settop(L, recipes);
    }
    lua_settop(L, names - 1);
}

/* '*' stands for letters that are no dots. */
static bool matches(const char *pattern, const char *name) {
    for (; *pattern; pattern++, name++) {
        if (*pattern == '*') {
            size_t n = strcspn(name, ".");
            for (size_t i = 0; i <= n; i++)
                if (matches(pattern + 1, name + i)) return true;
            return false;
        }
        if (*pattern != *name) return false;
    }
    return !*name;
}

static bool ignored(lua_State *L, int list, lua_Integer n, const char *name) {
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, list, i);
        const char *pattern = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        if (!pattern)
            spec_fail(L, "importer: expected names to ignore, found a %s", luaL_typename(L, -1));
        bool found = matches(pattern, name);
        lua_pop(L, 1);
        if (found) return true;
    }
    return false;
}

static void check_used(lua_State *L, int result, const ImportRequest *r) {
    lua_Integer n = plan_list_of(L, result, "ignore");
    int list = lua_gettop(L);
    for (int32_t i = 0; i < r->folder->count; i++) {
        const StoredTensor *t = &r->folder->tensor[i];
        Error e = { 0 };
        if (t->used || ignored(L, list, n, t->tensor->name)) continue;
        error_set(&e, STATUS_USER, "%s:%s: expected tensors that the importer uses, found another",
                  t->file->path, t->tensor->name);
        raise(L, &e, NULL);
    }
    lua_pop(L, 1);
}

/* Pairs of names; the first is used by being compared. */
static void read_same(lua_State *L, int result, const ImportRequest *r, Imported *out) {
    lua_Integer n = plan_list_of(L, result, "same");
    if (n > SAFETENSORS_TENSORS) spec_fail(L, "importer: expected fewer pairs in same, found more");
    out->same = calloc((size_t)n + 1, sizeof *out->same);
    if (!out->same) spec_stop(L, 3, "expected memory to import with, found none left");
    for (lua_Integer i = 1; i <= n; i++) {
        StoredTensor *pair[2];
        lua_rawgeti(L, -1, i);
        for (int k = 0; k < 2; k++) {
            lua_rawgeti(L, -1 - k, k + 1);
            const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
            pair[k] = name ? folder_find(r->folder, name) : NULL;
            if (!pair[k])
                spec_fail(L, "importer: expected same to name tensors of the folder, found %s",
                          name ? name : luaL_typename(L, -1));
        }
        lua_pop(L, 3);
        pair[0]->used = true;
        out->same[out->sames++] = (SamePair){ pair[0], pair[1] };
    }
    lua_pop(L, 1);
}

void importer_plan(lua_State *L, int result, const ImportRequest *r, Imported *out) {
    plan_tensors(L, result, r, &out->plan);
    read_same(L, result, r, out);
    check_used(L, result, r);
}
