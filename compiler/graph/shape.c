/* SPDX-License-Identifier: MIT
** Shapes: sizes that cannot overflow, broadcasting, text, and the checks
** that shape rules share.
*/
#include "op.h"

#include <string.h>

#define SIZE_LIMIT ((int64_t)1 << 48)

bool checked_size(int64_t a, int64_t b, int64_t *product) {
    if (a < 0 || b < 0 || a > SIZE_LIMIT || b > SIZE_LIMIT) return false;
    if (b && a > SIZE_LIMIT / b) return false;
    *product = a * b;
    return true;
}

int64_t shape_count(const Shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}

bool shape_equal(const Shape *a, const Shape *b) {
    if (a->lead != b->lead || a->type != b->type || a->rank != b->rank || a->list != b->list)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

const char *shape_broadcast(const Shape *a, const Shape *b, Shape *out) {
    Shape r = { .lead = a->lead == LEAD_TOKENS ? a->lead : b->lead,
                .list = a->lead == LEAD_TOKENS ? a->list : b->list };
    if (a->type != b->type) return "numbers and ids do not mix";
    if (a->lead == LEAD_TOKENS && b->lead == LEAD_TOKENS && a->list != b->list)
        return "rows of different tokens do not mix";
    r.type = a->type;
    r.rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 1; i <= r.rank; i++) { /* i-th axis from the right */
        int64_t m = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t n = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (m != n && m != 1 && n != 1) return "axes differ";
        r.dim[r.rank - i] = m == 1 ? n : m;
    }
    *out = r;
    return NULL;
}

const char *shape_text(Graph *g, const Shape *s) {
    char buf[32 * (MAXRANK + 1)], lead[24] = "";
    if (s->lead == LEAD_TOKENS) snprintf(lead, sizeof lead, s->list ? "rows%d" : "tokens", s->list);
    size_t at = (size_t)snprintf(buf, sizeof buf, "%s[%s", s->type == I32 ? "int32" : "", lead);
    for (int i = 0; i < s->rank && i < MAXRANK; i++)
        at += (size_t)snprintf(buf + at, sizeof buf - at, "%s%lld",
                               i || s->lead == LEAD_TOKENS ? "," : "", (long long)s->dim[i]);
    return graph_format(g, "%s]", buf);
}

const char *shape_check(Graph *g, const Shape *s) {
    int64_t count = 1;
    if (s->rank < 0 || s->rank > MAXRANK)
        return graph_format(g, "expected at most %d axes, found %d", MAXRANK, s->rank);
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 1)
            return graph_format(g, "axis %d must have a positive length, not %lld", i,
                                (long long)s->dim[i]);
        if (!checked_size(count, s->dim[i], &count))
            return graph_format(g, "%s has too many elements", shape_text(g, s));
    }
    return NULL;
}

const char *operand_is_number(Node *n, int i) {
    return n->in[i]->shape.type == F32 ? NULL : "operands must be numbers, not ids";
}

const char *operand_is(Node *n, int i, const char *name, const char *form, Lead lead, Type type,
                       int rank) {
    const Shape *s = &n->in[i]->shape;
    if (s->lead == lead && s->type == type && s->rank == rank) return NULL;
    return graph_format(n->g, "%s must be %s, not %s", name, form, shape_text(n->g, s));
}

int64_t rows_of(const EvalStep *s, const Shape *shape) {
    return shape->lead == LEAD_TOKENS ? s->list[shape->list].count : 1;
}

void shape_around(const EvalStep *s, const Shape *shape, int axis, int64_t *outer, int64_t *inner) {
    *outer = rows_of(s, shape);
    *inner = 1;
    for (int i = 0; i < shape->rank; i++) {
        if (i < axis) *outer *= shape->dim[i];
        if (i > axis) *inner *= shape->dim[i];
    }
}
