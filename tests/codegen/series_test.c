/* SPDX-License-Identifier: MIT
** Long lists of sources against the interpreter, values and gradients: pieces that lie in memory,
** that the kernel computes, that are slices, transposed or the same again; lists that begin alike;
** read as a whole, by heads, and element by element.
*/
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "agreement.h"
#include "rows.h"
#include "small_model.h"

typedef struct LongList {
    int pieces, kind;
    int64_t dim;
    bool check;
} LongList;

static const Extent extents[] = { { 1, 1 }, { 3, 13 }, { 0 } };

/* == Pieces =============================================================== */

/* Row 1 of three that lie side by side, in memory or computed. */
static Node *row_of_three(Probe *p, const Shape *s, bool computed) {
    Shape three = probe_shape(2, (int64_t[]){ 3, s->dim[0] });
    Node *x = computed ? op_tanh(probe_stored(p, three)) : probe_stored(p, three);
    return op_reshape(op_slice(x, 0, 1, 1), s);
}

/* A column of three: its elements are apart. */
static Node *column_of_three(Probe *p, const Shape *s) {
    Shape three = probe_shape(2, (int64_t[]){ s->dim[0], 3 });
    return op_reshape(op_slice(op_tanh(probe_stored(p, three)), 1, 1, 1), s);
}

static Node *turned(Probe *p, const Shape *s) {
    Shape two = probe_shape(2, (int64_t[]){ s->dim[0] / 2, 2 });
    return op_reshape(op_transpose(op_tanh(probe_stored(p, two)), (int[]){ 1, 0, 0, 0 }), s);
}

static Node *mixed_piece(Probe *p, const Shape *s, Node *const *before, int i) {
    switch (i % 9) {
    case 0: return probe_rows(p, *s);
    case 1: return op_tanh(before[i - 1]);
    case 2: return row_of_three(p, s, true);
    case 3: return row_of_three(p, s, false);
    case 4: return column_of_three(p, s);
    case 5: return turned(p, s);
    case 6: return before[i / 2];
    case 7: return op_mul(before[i - 1], before[i - 5]);
    default: return probe_stored(p, *s);
    }
}

/* The kinds of lists: of what lies in memory, of that and what is computed last, of everything. */
enum { STORED, NEWEST, MIXED, KINDS };

static Node *piece(Probe *p, const Shape *s, Node *const *before, int i, const LongList *l) {
    if (l->kind == MIXED) return mixed_piece(p, s, before, i);
    if (l->kind == NEWEST && i == l->pieces - 1) return op_sigmoid(before[i - 1]);
    return probe_stored(p, *s);
}

/* == Reads ================================================================ */

static Node *softmax_read(Probe *p, Node *V) {
    int64_t n = V->shape.dim[0], D = V->shape.dim[1];
    Shape channel = probe_shape(1, &D), row = probe_shape(2, (int64_t[]){ n, 1 });
    Node *z = op_mul(op_sum(op_mul(V, probe_param(p, channel)), 1),
                     op_rsqrt(op_add(op_sum(op_mul(V, V), 1), op_fill(p->g, 1))));
    return op_sum(op_mul(op_reshape(op_softmax(z, 0), &row), V), 0);
}

static Node *heads_read(Probe *p, Node *V) {
    int64_t n = V->shape.dim[0], D = V->shape.dim[1];
    Shape channel = probe_shape(1, &D), heads = probe_shape(3, (int64_t[]){ n, 2, D / 2 });
    Shape wide = probe_shape(3, (int64_t[]){ n, 2, 1 });
    Node *z = op_sum(op_reshape(op_mul(V, probe_param(p, channel)), &heads), 2);
    return op_reshape(op_sum(op_mul(op_reshape(op_sigmoid(z), &wide), op_reshape(V, &heads)), 0),
                      &channel);
}

/* Every piece reads all of them. */
static Node *pairs_read(Probe *p, Node *V) {
    int64_t n = V->shape.dim[0], D = V->shape.dim[1];
    Shape channel = probe_shape(1, &D), rows = probe_shape(4, (int64_t[]){ n, 1, 2, D / 2 });
    Shape columns = probe_shape(4, (int64_t[]){ 1, n, 2, D / 2 });
    Shape wide = probe_shape(4, (int64_t[]){ n, n, 2, 1 });
    Node *x = op_mul(V, probe_param(p, channel)), *by = op_reshape(V, &columns);
    Node *z = op_softmax(op_sum(op_mul(op_reshape(x, &rows), by), 3), 1);
    return op_reshape(op_sum(op_sum(op_mul(op_reshape(z, &wide), by), 1), 0), &channel);
}

/* Channels of each piece turned by its age: both parts have lengths of their own. */
static Node *turned_read(Probe *p, Node *V) {
    int64_t n = V->shape.dim[0], D = V->shape.dim[1];
    Shape channel = probe_shape(1, &D), list = probe_shape(2, (int64_t[]){ n, 1 });
    Node **turned = graph_alloc(p->g, (size_t)n * sizeof *turned);
    Node *x = op_sub(V, op_scale(op_reshape(op_sum(V, 1), &list), 1.0 / (double)D));
    for (int64_t i = 0, k; i < n; i++) {
        Node *row = op_reshape(op_slice(x, 0, i, 1), &channel);
        k = (n - i) % D;
        turned[i] = k
            ? op_concat(p->g, 2, (Node *[]){ op_slice(row, 0, k, D - k), op_slice(row, 0, 0, k) },
                        0)
            : row;
    }
    Node *z = op_sigmoid(op_sum(op_mul(V, probe_param(p, channel)), 1));
    return op_sum(op_mul(op_reshape(z, &list), op_stack(p->g, (int)n, turned)), 0);
}

/* One element of each piece, and all of them in one row. */
static Node *elements_read(Node *V) {
    int64_t n = V->shape.dim[0], all = n * V->shape.dim[1];
    Shape flat = probe_shape(1, &all), list = probe_shape(1, &n);
    Node *some = op_slice(op_reshape(V, &flat), 0, n / 2, n);
    return op_mul(op_reshape(op_slice(V, 1, 1, 1), &list), some);
}

/* With weights of a list of parameters and numbers, all of which the reads' lists begin with, and
** of a part of a longer parameter. */
static Node *weighted_read(Probe *p, Node *V, Node **weight, Node *all) {
    int64_t n = V->shape.dim[0];
    Shape wide = probe_shape(2, (int64_t[]){ n, 1 });
    Node *z = op_add(op_sum(V, 1), op_stack(p->g, (int)n, weight));
    Node *y = op_sum(op_mul(op_reshape(op_softmax(z, 0), &wide), V), 0);
    return op_add(y, op_sum(op_mul(op_reshape(op_slice(all, 0, 1, n), &wide), V), 0));
}

static void add_weighted(Probe *p, Node **source, int n) {
    Node **weight = graph_alloc(p->g, (size_t)n * sizeof *weight);
    Shape one = probe_shape(1, (int64_t[]){ 1 }), none = { 0 };
    Node *all = probe_param(p, probe_shape(1, (int64_t[]){ n + 2 }));
    for (int i = 0; i < n; i++)
        weight[i] = i % 3 ? op_reshape(probe_param(p, one), &none) : op_fill(p->g, 0.25 * (i % 2));
    for (int length = n - 1; length <= n; length++)
        probe_read(p, weighted_read(p, op_stack(p->g, length, source), weight, all));
}

/* Lists of one read after another, as models have them: the first pieces, more, all. */
static void add_reads(Probe *p, Node **source, int n) {
    for (int length = n - 3 > 1 ? n - 3 : 1; length <= n; length++)
        probe_read(p, softmax_read(p, op_stack(p->g, length, source)));
    add_weighted(p, source, n);
    Node *V = op_stack(p->g, n, source);
    probe_read(p, heads_read(p, V));
    for (int length = n - 2 > 1 ? n - 2 : n; n <= 33 && length <= n; length++) {
        Node *some = op_stack(p->g, length, source);
        probe_read(p, pairs_read(p, some));
        probe_read(p, turned_read(p, some));
    }
    probe_read(p, elements_read(V));
    probe_read(p, op_slice(V, 0, n - 1, 1));
}

/* == Agreement ============================================================ */

static int agrees(void *arg) {
    const LongList *l = arg;
    char why[700] = "";
    Probe p = probe_new((uint64_t)l->pieces, 8, 1);
    Shape s = probe_shape(1, &l->dim);
    Node **source = graph_alloc(p.g, (size_t)l->pieces * sizeof *source);
    probe_read(&p, p.x);
    for (int i = 0; i < l->pieces; i++)
        source[i] = piece(&p, &s, source, i, l);
    add_reads(&p, source, l->pieces);
    CodegenOptions o = { .cpu = "x86-64-v3", .level = 1, .passes.check = l->check };
    if (graph_answer(probe_end(&p, NULL), 7, &o, extents, why, sizeof why) == AGREES) return 0;
    print_error("%d pieces of %d, kind %d: %s\n", l->pieces, (int)l->dim, l->kind, why);
    return 1;
}

static void long_lists_agree(void **state) {
    static const int pieces[] = { 2, 16, 17, 19, 33, 66, 130, 300 };
    static const int64_t dims[] = { 6, 18, 40 };
    int wrong = 0;
    (void)state;
    for (int i = 0; i < 8; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            LongList l = { pieces[i], kind, dims[(i + kind) % 3], (i + kind) % 4 == 3 };
            if (l.kind == MIXED && l.pieces > 130) continue;
            int status = apart(agrees, &l);
            if (status > 1) print_error("%d pieces, kind %d: %d\n", l.pieces, kind, status);
            wrong += status != 0;
        }
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(long_lists_agree) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
