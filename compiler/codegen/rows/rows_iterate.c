/* SPDX-License-Identifier: MIT
** Iterations: statements that process a small matrix repeatedly, as a loop whose body is emitted
** once.  Every token of a tile has a lane.  The current matrix lies in the kernel's scratch, each
** element a vector of tokens.  It is loaded from the operand before the loop and written to the
** value after it.  A value with more axes is processed one matrix after another.
**
** sinkhorn: half of an iteration divides lines (first rows, then columns) by their sums and eps.
** sinkhorn_grad: goes back over the halves, and needs the result and the sums of each.  Scratch
** holds these for one stretch of iterations.  For earlier stretches it holds only the first
** matrix, from which the halves are computed again when their turn comes:
**
**   forwards    x -> stretch 0 -> stretch 1 -> ... -> first matrix of the last stretch
**   backwards   for each stretch, from the last: its halves again, held; then dy back over them
*/
#include "lines.h"
#include "rows_iteration.h"
#include "rows_analysis.h"
#include "rows_code.h"

enum { WHOLE = 64 }; /* elements of a matrix whose loops are written out */

/* == Matrices ============================================================= */

typedef struct Iteration {
    RowCode *c;
    const Node *n;
    const RowValue *v;
    IterationSize z;
    V lead[MAXRANK]; /* which matrix: the index of the axes before its own */
} Iteration;

/* For (Turns s = turns(..); turns_next(..);) emits its body for s.i from 0 to count - 1: so many
** times, or once in a loop. */
typedef struct Turns {
    int64_t at, count;
    bool whole;
    Loop loop;
    V i;
} Turns;

static Turns turns(const Iteration *it, int64_t count) {
    return (Turns){ .count = count, .whole = it->z.matrix <= WHOLE };
}

static bool turns_next(const Iteration *it, Turns *s) {
    Emit *e = it->c->e;
    if (s->whole) {
        s->i = e_i64(e, s->at);
        return s->at++ < s->count;
    }
    if (s->at++) return e_end(e, s->loop), false;
    s->loop = e_loop(e, e_i64(e, 0), e_i64(e, s->count), 1);
    s->i = s->loop.i;
    return true;
}

/* 'element' elements after 'from', which is in the scratch. */
static V element_at(const Iteration *it, V from, V element) {
    Emit *e = it->c->e;
    return e_at(e, from, e_imul(e, element, e_i64(e, it->c->now.lanes)));
}

static V work_at(const Iteration *it, int64_t element) {
    V base = e_at(it->c->e, it->c->scratch, e_i64(it->c->e, it->v->lies.work));
    return element_at(it, base, e_i64(it->c->e, element));
}

static V iterate_load(const Iteration *it, V from, V element) {
    return memory_load(it->c, memory_scratch(it->c), element_at(it, from, element), 1);
}

static void store(const Iteration *it, V to, V element, V x) {
    memory_store(it->c, memory_scratch(it->c), element_at(it, to, element), 1, x);
}

static V zero(const Iteration *it) {
    return e_splat(it->c->e, e_f32(it->c->e, 0), it->c->now.lanes);
}

static void iterate_copy(const Iteration *it, V from, V to) {
    for (Turns s = turns(it, it->z.matrix); turns_next(it, &s);)
        store(it, to, s.i, iterate_load(it, from, s.i));
}

/* == Lines ================================================================ */

/* The lines of a half: rows or columns. */
typedef struct HalfLines {
    int64_t count, apart, length, step;
} HalfLines;

static HalfLines lines_of(const Iteration *it, bool columns) {
    int64_t n = it->z.rows, m = it->z.columns;
    return columns ? (HalfLines){ m, 1, n, m } : (HalfLines){ n, m, m, 1 };
}

static V on_line(const Iteration *it, HalfLines l, V line, V k) {
    Emit *e = it->c->e;
    return e_iadd(e, e_imul(e, line, e_i64(e, l.apart)), e_imul(e, k, e_i64(e, l.step)));
}

static void divide_line(const Iteration *it, HalfLines l, V line, V from, V to) {
    Emit *e = it->c->e;
    V eps = e_splat(e, e_f32(e, it->n->attr->value), it->c->now.lanes), sum = e_var(e, eps);
    for (Turns s = turns(it, l.length); turns_next(it, &s);)
        e_set(e, sum, e_add(e, e_get(e, sum), iterate_load(it, from, on_line(it, l, line, s.i))));
    V all = e_get(e, sum);
    for (Turns s = turns(it, l.length); turns_next(it, &s);) {
        V at = on_line(it, l, line, s.i);
        store(it, to, at, e_div(e, iterate_load(it, from, at), all));
    }
    if (it->n->op != OP_sinkhorn) store(it, to, e_iadd(e, e_i64(e, it->z.matrix), line), all);
}

static void iterate_divide(const Iteration *it, bool columns, V from, V to) {
    HalfLines l = lines_of(it, columns);
    for (Turns s = turns(it, l.count); turns_next(it, &s);)
        divide_line(it, l, s.i, from, to);
}

/* d becomes d / sum - the sum of d y / sum. */
static void divide_line_back(const Iteration *it, HalfLines l, V line, V half, V d) {
    Emit *e = it->c->e;
    V by = iterate_load(it, half, e_iadd(e, e_i64(e, it->z.matrix), line)),
      sum = e_var(e, zero(it));
    for (Turns s = turns(it, l.length); turns_next(it, &s);) {
        V at = on_line(it, l, line, s.i);
        V part = e_mul(e, iterate_load(it, d, at), e_div(e, iterate_load(it, half, at), by));
        e_set(e, sum, e_add(e, e_get(e, sum), e_neg(e, part)));
    }
    V all = e_get(e, sum);
    for (Turns s = turns(it, l.length); turns_next(it, &s);) {
        V at = on_line(it, l, line, s.i);
        store(it, d, at, e_add(e, e_div(e, iterate_load(it, d, at), by), all));
    }
}

static void divide_back(const Iteration *it, bool columns, V half, V d) {
    HalfLines l = lines_of(it, columns);
    for (Turns s = turns(it, l.count); turns_next(it, &s);)
        divide_line_back(it, l, s.i, half, d);
}

/* == Operations =========================================================== */

static void sinkhorn(const Iteration *it, V x, V iterations) {
    Loop l = e_loop(it->c->e, e_i64(it->c->e, 0), iterations, 1);
    iterate_divide(it, false, x, x);
    iterate_divide(it, true, x, x);
    e_end(it->c->e, l);
}

/* Half 'number' of a stretch; what number 0 made is the matrix the stretch begins with. */
static V half_at(const Iteration *it, V number) {
    Emit *e = it->c->e;
    return element_at(it, work_at(it, it->z.kept), e_imul(e, number, e_i64(e, it->z.half)));
}

/* An iteration's two halves lie after the one before it. */
static void keep_stretch(const Iteration *it, V iterations) {
    Emit *e = it->c->e;
    Loop l = e_loop(e, e_i64(e, 0), iterations, 1);
    V before = half_at(it, e_imul(e, l.i, e_i64(e, 2)));
    V rows = element_at(it, before, e_i64(e, it->z.half)),
      columns = element_at(it, before, e_i64(e, 2 * it->z.half));
    iterate_divide(it, false, before, rows);
    iterate_divide(it, true, rows, columns);
    e_end(e, l);
}

static void stretch_back(const Iteration *it, V iterations, V d) {
    Emit *e = it->c->e;
    Loop l = e_loop(e, e_i64(e, 0), iterations, 1);
    V left = e_isub(e, iterations, l.i);
    V columns = half_at(it, e_imul(e, left, e_i64(e, 2)));
    V rows = element_at(it, columns, e_i64(e, -it->z.half));
    divide_back(it, true, columns, d);
    divide_back(it, false, rows, d);
    e_end(e, l);
}

static V start_of(const Iteration *it, V stretch) {
    Emit *e = it->c->e;
    return element_at(it, work_at(it, it->z.starts), e_imul(e, stretch, e_i64(e, it->z.matrix)));
}

/* The matrices that stretches begin with; the first one's, x, is there. */
static void find_starts(const Iteration *it) {
    Emit *e = it->c->e;
    if (it->z.stretches == 1) return;
    V first = half_at(it, e_i64(e, 0));
    Loop l = e_loop(e, e_i64(e, 1), e_i64(e, it->z.stretches), 1);
    iterate_copy(it, start_of(it, e_isub(e, l.i, e_i64(e, 1))), first);
    Loop k = e_loop(e, e_i64(e, 0), e_i64(e, it->z.stretch), 1);
    iterate_divide(it, false, first, first);
    iterate_divide(it, true, first, first);
    e_end(e, k);
    iterate_copy(it, first, start_of(it, l.i));
    e_end(e, l);
}

static void sinkhorn_grad(const Iteration *it, V d) {
    Emit *e = it->c->e;
    find_starts(it);
    Loop l = e_loop(e, e_i64(e, 0), e_i64(e, it->z.stretches), 1);
    V stretch = e_isub(e, e_i64(e, it->z.stretches - 1), l.i);
    V done = e_imul(e, stretch, e_i64(e, it->z.stretch));
    V iterations = e_imin(e, e_i64(e, it->z.stretch), e_isub(e, e_i64(e, it->z.iterations), done));
    iterate_copy(it, start_of(it, stretch), half_at(it, e_i64(e, 0)));
    keep_stretch(it, iterations);
    stretch_back(it, iterations, d);
    e_end(e, l);
}

/* == A statement ========================================================== */

static At element_of(const Iteration *it, V i, V k) {
    At at = { .lane = -1 };
    int rank = it->n->shape.rank;
    for (int a = 0; a < rank - 2; a++)
        at.idx[a] = it->lead[a];
    at.idx[rank - 2] = i;
    at.idx[rank - 1] = k;
    return at;
}

static V place_of_element(const Iteration *it, V i, V k) {
    return on_line(it, lines_of(it, false), i, k);
}

static void iterate_take(const Iteration *it, int operand, V to) {
    RowCode *c = it->c;
    int mark = c->memos.n;
    for (Turns i = turns(it, it->z.rows); turns_next(it, &i);)
        for (Turns k = turns(it, it->z.columns); turns_next(it, &k);) {
            V x = expr_eval(c, it->n->in[operand], element_of(it, i.i, k.i));
            store(it, to, place_of_element(it, i.i, k.i), e_splat(c->e, x, c->now.lanes));
            expr_forget(c, mark);
        }
}

static void give_elements(const Iteration *it, V from) {
    for (Turns i = turns(it, it->z.rows); turns_next(it, &i);)
        for (Turns k = turns(it, it->z.columns); turns_next(it, &k);)
            memory_write(it->c, it->v, element_of(it, i.i, k.i),
                         iterate_load(it, from, place_of_element(it, i.i, k.i)));
}

/* A large value is a row per token where it is kept, not a lane. */
static void give_rows(const Iteration *it, V from) {
    RowCode *c = it->c;
    const RowCursor before = c->now;
    Loop l = e_loop(c->e, e_i64(c->e, 0), c->now.rows, 1);
    c->now.mode = MODE_CHANNELS;
    c->now.row = l.i;
    c->now.t = e_iadd(c->e, c->now.t0, l.i);
    for (Turns i = turns(it, it->z.rows); turns_next(it, &i);)
        for (Turns k = turns(it, it->z.columns); turns_next(it, &k);) {
            V at = element_at(it, from, place_of_element(it, i.i, k.i));
            c->now.lanes = 1;
            V x = memory_load(c, memory_scratch(c), e_at(c->e, at, c->now.row), 0);
            memory_write(c, it->v, element_of(it, i.i, k.i), x);
            c->now.lanes = before.lanes;
        }
    e_end(c->e, l);
    c->now = before;
}

static void one_matrix(const Iteration *it) {
    Emit *e = it->c->e;
    V first = work_at(it, 0);
    bool back = it->n->op == OP_sinkhorn_grad;
    iterate_take(it, 0, back ? start_of(it, e_i64(e, 0)) : first);
    if (back) {
        iterate_take(it, 1, first);
        sinkhorn_grad(it, first);
    } else sinkhorn(it, first, e_i64(e, it->z.iterations));
    bool rows = it->n->shape.lead == LEAD_TOKENS && !rows_small(it->n);
    (rows ? give_rows : give_elements)(it, first);
}

static void each_matrix(Iteration *it, int axis) {
    Emit *e = it->c->e;
    if (axis == it->n->shape.rank - 2) {
        one_matrix(it);
        return;
    }
    Loop l = e_loop(e, e_i64(e, 0), e_i64(e, it->n->shape.dim[axis]), 1);
    it->lead[axis] = l.i;
    each_matrix(it, axis + 1);
    e_end(e, l);
}

void iterate_emit(RowCode *c, const Statement *s) {
    Iteration it = { c, s->node, rows_value(c->r, s->node), iteration_size(s->node), { 0 } };
    LLVMMetadataRef before = lines_set(c->e->lines, s->node->loc);
    c->now.mode = s->mode;
    c->now.lanes = s->mode == MODE_UNIFORM ? 1 : c->r->lanes;
    expr_forget(c, 0);
    each_matrix(&it, 0);
    lines_back(c->e->lines, before);
}
