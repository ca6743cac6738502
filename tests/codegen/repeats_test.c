/* SPDX-License-Identifier: MIT
** Many groups of pieces that differ in numbers only are one loop: against the interpreter, values
** and gradients, for each kind of what a piece computes, kinds that take turns, and tests of
** accesses.
*/
#include "test.h"

#include "agreement.h"
#include "small_model.h"

typedef struct Turns {
    int rows;
    int kind; /* of every row's parts; KINDS: all take turns, OPERATIONS: TANH and SIGMOID do */
    int64_t dim;
    bool check;
} Turns;

static const Extent extents[] = { { 1, 1 }, { 3, 13 }, { 0 } };

/* == Parts of rows ======================================================== */

/* What all rows are made of. */
typedef struct Sources {
    Node *stored, *other, *computed; /* a row */
    Node *pair, *columns;            /* two rows, and two columns as long */
    Node *weight, *constant;         /* a row of a parameter, a number */
} Sources;

/* TANH and SIGMOID differ in their operation only. */
enum {
    COPY,
    COMPUTED,
    WEIGHTED,
    TWO_PLACES,
    SQUARED,
    TANH,
    SIGMOID,
    SUMMED,
    ROW_OF_TWO,
    COLUMN,
    KINDS,
    OPERATIONS
};

/* Elements of a row from 'first' on. */
static Node *part(const Sources *s, int kind, int64_t first, int64_t count) {
    Shape row = s->stored->shape, length = probe_shape(1, &count);
    Node *x = op_slice(s->stored, 0, first, count);
    switch (kind) {
    case COMPUTED: return op_slice(s->computed, 0, first, count);
    case WEIGHTED: return op_mul(x, op_slice(s->weight, 0, first, count));
    case TWO_PLACES: return op_add(x, op_slice(s->other, 0, row.dim[0] - first - count, count));
    case SQUARED: return op_add(op_mul(x, x), s->constant);
    case TANH: return op_tanh(x);
    case SIGMOID: return op_sigmoid(x);
    case SUMMED: return op_sum(op_slice(s->pair, 1, first, count), 0);
    case ROW_OF_TWO:
        return op_reshape(op_slice(op_slice(s->pair, 0, 1, 1), 1, first, count), &length);
    case COLUMN: {
        Node *rows = op_transpose(s->columns, (int[]){ 1, 0, 0, 0 });
        return op_reshape(op_slice(op_slice(rows, 0, 1, 1), 1, first, count), &length);
    }
    default: return x;
    }
}

static Sources new_sources(Probe *p, int64_t dim) {
    Shape row = probe_shape(1, &dim), rows = probe_shape(2, (int64_t[]){ 2, dim });
    Shape columns = probe_shape(2, (int64_t[]){ dim, 2 });
    Node *stored = probe_stored(p, row);
    return (Sources){ .stored = stored,
                      .other = probe_stored(p, row),
                      .computed = op_tanh(stored),
                      .pair = probe_stored(p, rows),
                      .columns = probe_stored(p, columns),
                      .weight = probe_param(p, row),
                      .constant = op_fill(p->g, 0.25) };
}

/* Each row is cut at a place of its own, and its parts change places. */
static Node *turned_rows(Probe *p, const Turns *t) {
    Node **row = graph_alloc(p->g, (size_t)t->rows * sizeof *row);
    Sources s = new_sources(p, t->dim), other = new_sources(p, t->dim);
    for (int i = 0; i < t->rows; i++) {
        const Sources *from = i % 5 == 3 ? &other : &s;
        int64_t k = 1 + i % (t->dim - 1);
        int kind = t->kind == KINDS ? i % KINDS : t->kind == OPERATIONS ? TANH + i % 2 : t->kind;
        row[i] = op_concat(
            p->g, 2, (Node *[]){ part(from, kind, k, t->dim - k), part(from, kind, 0, k) }, 0);
    }
    return op_stack(p->g, t->rows, row);
}

/* == Agreement ============================================================ */

static int agrees(void *arg) {
    const Turns *t = arg;
    char why[700] = "";
    Probe p = probe_new((uint64_t)(t->rows + t->kind), 8, 1);
    probe_read(&p, p.x);
    Node *rows = turned_rows(&p, t);
    Shape list = probe_shape(2, (int64_t[]){ t->rows, 1 });
    Node *z = op_softmax(op_sum(op_mul(rows, rows), 1), 0);
    probe_read(&p, op_sum(op_mul(op_reshape(z, &list), rows), 0));
    CodegenOptions o = { .cpu = "x86-64-v3", .level = 1, .passes.check = t->check };
    if (graph_answer(probe_end(&p, NULL), 7, &o, extents, why, sizeof why) == AGREES) return 0;
    print_error("%d rows of %d, kind %d: %s\n", t->rows, (int)t->dim, t->kind, why);
    return 1;
}

static void like_groups_agree(void **state) {
    static const int rows[] = { 3, 11, 24, 40 };
    static const int64_t dims[] = { 20, 27, 48 };
    int wrong = 0;
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int kind = 0; kind <= OPERATIONS; kind++) {
            Turns t = { rows[i], kind, dims[(i + kind) % 3], (i + kind) % 2 };
            wrong += apart(agrees, &t) != 0;
        }
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(like_groups_agree) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
