/* SPDX-License-Identifier: MIT
** Tensors as Lua sees them: userdata that hold a node.  Everything that a primitive needs to check
** its arguments is here.  If a shape rule refuses, the error names the operands and the lines that
** made them.
*/
#include "front.h"

#include <math.h>
#include <string.h>

#include "site.h"

#define TENSOR "tensor"

/* "[tokens,8] (mlp.lua:3)" */
static const char *tensor_describe(lua_State *L, const Node *n) {
    const char *shape = shape_text(n->g, &n->shape);
    if (!n->loc.file) return lua_pushstring(L, shape);
    return lua_pushfstring(L, "%s (%s:%d)", shape, n->loc.file, n->loc.line);
}

/* == Lua to C ============================================================= */

/* Its address finds the metatable in the registry without hashing a name. */
static const char key_of_tensors;

int tensor_push(lua_State *L, Node *n) {
    *(Node **)lua_newuserdatauv(L, sizeof n, 0) = n;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &key_of_tensors);
    lua_setmetatable(L, -2);
    return 1;
}

Node **tensor_at(lua_State *L, int arg) {
    void *p = lua_touserdata(L, arg);
    if (!p || !lua_getmetatable(L, arg)) return NULL;
    bool is_tensor = lua_topointer(L, -1) == front(L)->tensors;
    lua_pop(L, 1);
    return is_tensor ? p : NULL;
}

const char *tensor_nothing(lua_State *L) {
    const char *site = front(L)->g->site;
    if (site_layer(site) < 0) return "nothing";
    return lua_pushfstring(L, "nothing; at %s there are outputs of earlier sublayers only", site);
}

Node *tensor_get(lua_State *L, int arg, const char *what) {
    Node **p = tensor_at(L, arg);
    if (p) return *p;
    if (lua_type(L, arg) != LUA_TNUMBER)
        spec_fail(L, "%s: expected a tensor or a number as argument %d, found %s", what, arg,
                  lua_isnoneornil(L, arg) ? tensor_nothing(L)
                                          : lua_pushfstring(L, "a %s", luaL_typename(L, arg)));
    if (!isfinite(lua_tonumber(L, arg)))
        spec_fail(L, "%s: expected a finite number as argument %d, found %f", what, arg,
                  lua_tonumber(L, arg));
    return op_fill(front(L)->g, lua_tonumber(L, arg));
}

/* Lists are tables of at most MAXLIST elements from 1 on. */
int64_t tensor_list_length(lua_State *L, int arg, const char *what) {
    if (!lua_istable(L, arg))
        spec_fail(L, "%s: expected a list as argument %d, found %s", what, arg,
                  lua_isnoneornil(L, arg) ? "nothing"
                                          : lua_pushfstring(L, "a %s", luaL_typename(L, arg)));
    lua_Unsigned n = lua_rawlen(L, arg);
    if (n > MAXLIST)
        spec_fail(L, "%s: expected a list of at most %d elements, found more", what, MAXLIST);
    sandbox_charge(L, (int64_t)n);
    return (int64_t)n;
}

int64_t tensor_list_integer(lua_State *L, int arg, int64_t i, const char *what) {
    int ok, type = lua_rawgeti(L, arg, i);
    lua_Integer value = lua_tointegerx(L, -1, &ok);
    if (!ok || type != LUA_TNUMBER)
        spec_fail(L, "%s: expected an integer at place %d of argument %d, found %s", what, (int)i,
                  arg, luaL_tolstring(L, -1, NULL));
    lua_pop(L, 1);
    return value;
}

void tensor_list_shape(lua_State *L, int arg, const char *what, Shape *s) {
    int64_t n = tensor_list_length(L, arg, what);
    if (n > MAXRANK) spec_fail(L, "%s: expected at most %d axes, found %d", what, MAXRANK, (int)n);
    *s = (Shape){ .rank = (int)n };
    for (int i = 0; i < s->rank; i++)
        s->dim[i] = tensor_list_integer(L, arg, i + 1, what);
}

/* == Building nodes ======================================================= */

static _Noreturn void misfit(lua_State *L, Op op, int nin, Node **in, const char *error) {
    const char *a = nin ? tensor_describe(L, in[0]) : "nothing";
    const char *name = op_info[op].name, *b = nin > 1 ? tensor_describe(L, in[1]) : NULL;
    const char *c = nin > 2 ? tensor_describe(L, in[2]) : NULL, *more = nin > 3 ? ", ..." : "";
    if (c)
        spec_fail(L, "%s: expected operands that fit (%s), found %s, %s and %s%s", name, error, a,
                  b, c, more);
    if (b) spec_fail(L, "%s: expected operands that fit (%s), found %s and %s", name, error, a, b);
    spec_fail(L, "%s: expected an operand that fits (%s), found %s", name, error, a);
}

/* The node of operands that were repeated for each token until they fit; NULL: they do not. */
static Node *of_rows(Front *f, Op op, int nin, Node *const *in, Attr attr) {
    Node **own = graph_alloc(f->g, ((size_t)nin + 1) * sizeof *own), *n = NULL;
    memcpy(own, in, (size_t)nin * sizeof *own);
    for (int i = 0; !n && i < nin; i++) {
        const char *error;
        Node *x = op_as_rows(op, nin, own, i);
        if (!x) continue;
        own[i] = x;
        n = node_new(f->g, op, nin, own, attr, &error);
    }
    return n;
}

Node *tensor_build(lua_State *L, Op op, int nin, Node **in, Attr attr) {
    Front *f = front(L);
    Graph *g = f->g;
    const char *error;
    int before = g->n;
    g->loc = spec_here(L);
    Node *n = node_new(g, op, nin, in, attr, &error);
    if (!n) n = of_rows(f, op, nin, in, attr);
    if (!n) misfit(L, op, nin, in, error);
    if (g->n > before) f->built += sizeof *n + (size_t)nin * sizeof *in + 64;
    if (f->built > f->limit.graph)
        spec_stop(L, 3, "expected a model of at most %I MB of graph, found more",
                  (LUAI_UACINT)(f->limit.graph >> 20));
    return n;
}

/* == Methods ============================================================== */

static Node *self(lua_State *L) {
    Node **p = tensor_at(L, 1);
    if (!p) spec_fail(L, "expected a tensor before ':', found a %s", luaL_typename(L, 1));
    return *p;
}

/* x:shape(): the inner axes, a list */
static int method_shape(lua_State *L) {
    const Shape *s = &self(L)->shape;
    lua_createtable(L, s->rank, 0);
    for (int i = 0; i < s->rank; i++) {
        lua_pushinteger(L, s->dim[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int meta_index(lua_State *L) {
    const Node *n = self(L);
    if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "shape"))
        spec_fail(L, "expected x:shape(), all there is to ask of a tensor, found '%s' asked of %s",
                  luaL_tolstring(L, 2, NULL), tensor_describe(L, n));
    lua_pushcfunction(L, method_shape);
    return 1;
}

static int meta_tostring(lua_State *L) {
    Node *n = self(L);
    lua_pushfstring(L, "tensor %s", shape_text(n->g, &n->shape));
    return 1;
}

/* Nodes are interned: equal tensors are the same node. */
static int meta_eq(lua_State *L) {
    Node **a = tensor_at(L, 1), **b = tensor_at(L, 2);
    lua_pushboolean(L, a && b && *a == *b);
    return 1;
}

void tensor_open(lua_State *L) {
    static const luaL_Reg meta[] = { { "__index", meta_index },
                                     { "__tostring", meta_tostring },
                                     { "__eq", meta_eq },
                                     { NULL, NULL } };
    luaL_newmetatable(L, TENSOR);
    luaL_setfuncs(L, meta, 0);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    front(L)->tensors = lua_topointer(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key_of_tensors);
}
