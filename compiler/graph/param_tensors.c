/* SPDX-License-Identifier: MIT
** Tensors of parameters.  In files and to the optimizer, a parameter is one tensor.  If a part of
** its name between dots is '*', it is as many tensors as its first axis is long.  They lie one
** after another in memory, and their names have their numbers, from 0, in place of the '*'.
*/
#include "graph.h"

#include <string.h>

static const char *star_of(const char *name) { return strchr(name, '*'); }

int64_t param_tensors(const Node *param) {
    return star_of(param->attr->name) ? param->shape.dim[0] : 1;
}

Shape param_tensor_shape(const Node *param) {
    Shape s = param->shape;
    if (!star_of(param->attr->name)) return s;
    s.rank--;
    memmove(s.dim, s.dim + 1, (size_t)s.rank * sizeof *s.dim);
    return s;
}

void param_tensor_name(const Node *param, int64_t number, char *out, size_t size) {
    const char *name = param->attr->name, *star = star_of(name);
    if (!star) snprintf(out, size, "%s", name);
    else snprintf(out, size, "%.*s%lld%s", (int)(star - name), name, (long long)number, star + 1);
}

int64_t graph_tensors(const Graph *g) {
    int64_t n = 0;
    for (int i = 0; i < g->nparam; i++)
        n += param_tensors(g->param[i].node);
    return n;
}
