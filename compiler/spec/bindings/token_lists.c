/* SPDX-License-Identifier: MIT
** Lists of tokens, for the library: which list a tensor's rows belong to, what made a list, and
** the current list.  Positions, ids and random numbers are those of the current list's tokens,
** unless the spec gives another tensor (of).
*/
#include "arguments.h"
#include "bindings.h"

static Node *list_node(const Front *f, int list) { return (Node *)graph_list(f->g, list); }

/* The rows of a value of all tokens that a list has; list 0: all of them. */
static Node *lists_rows_of(lua_State *L, Node *all, int list) {
    if (!list || all->shape.list == list) return all;
    Node *in[] = { all, list_node(front(L), list) };
    return tensor_build(L, OP_gather, 2, in, (Attr){ 0 });
}

Node *lists_worked_on(lua_State *L, Node *all) { return lists_rows_of(L, all, front(L)->list); }

Node *lists_like(lua_State *L, int arg, const char *what, Node *all) {
    if (!option_find(L, arg, "of")) return lists_worked_on(L, all);
    Node **of = tensor_at(L, -1);
    if (!of || (*of)->op == OP_rows || (*of)->shape.lead != LEAD_TOKENS)
        spec_fail(L, "%s: expected of to be a tensor of tokens, found %s", what,
                  !of ? lua_pushfstring(L, "a %s", luaL_typename(L, -1))
                      : (*of)->op == OP_rows ? "what rows() returned"
                                             : shape_text((*of)->g, &(*of)->shape));
    return lists_rows_of(L, all, (*of)->shape.list);
}

int lists_call_rows(lua_State *L) {
    Node *mask = tensor_get(L, 1, "rows");
    Graph *g = mask->g;
    for (int i = graph_lists(g); i > 0; i--)
        if (g->list[i] && g->list[i]->in[0] == mask) return tensor_push(L, g->list[i]);
    return tensor_push(L,
                       tensor_build(L, OP_rows, 1, &mask, (Attr){ .count = graph_lists(g) + 1 }));
}

/* list_of(x): what rows() returned of the list that x has rows of; nil: x has all tokens, or none,
** or is no tensor */
int lists_call_of(lua_State *L) {
    Node **x = tensor_at(L, 1);
    if (!x || (*x)->shape.lead != LEAD_TOKENS || !(*x)->shape.list) return 0;
    return tensor_push(L, list_node(front(L), (*x)->shape.list));
}

/* mask_of(list): what rows() was given; nil of what it did not return */
int lists_call_mask(lua_State *L) {
    Node **list = tensor_at(L, 1);
    return list && (*list)->op == OP_rows ? tensor_push(L, (*list)->in[0]) : 0;
}

/* work_on(list): from now on its tokens, nil: all; returns what it was */
int lists_call_work_on(lua_State *L) {
    Front *f = front(L);
    Node **list = tensor_at(L, 1);
    int before = f->list;
    f->list = list ? (int)(*list)->attr->count : 0;
    return before ? tensor_push(L, list_node(f, before)) : 0;
}

/* == Attempts ============================================================= */

/* The message handler: what ends an attempt is no error. */
static int lists_told(lua_State *L) {
    if (lua_rawequal(L, 1, lua_upvalueindex(1))) return 1;
    int raised = spec_handle_error(L);
    front(L)->raised = true;
    return raised;
}

/* attempt(end, f, ...): true and what f(...) returns; false if error(end) ended it.  Other errors
** go on up. */
int lists_call_attempt(lua_State *L) {
    int n = lua_gettop(L);
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, lists_told, 1);
    lua_insert(L, 2);
    int status = sandbox_call(L, n - 2, 2);
    bool ended = status && lua_rawequal(L, -1, 1);
    if (status && !ended) return lua_error(L);
    if (ended) lua_settop(L, 2);
    lua_pushboolean(L, !ended);
    lua_replace(L, 2);
    return lua_gettop(L) - 1;
}
