/* SPDX-License-Identifier: MIT
** Compiled code of every op against the interpreter: each row of the op table
** in small models around it, in shapes that take every path of the row
** kernels: lanes along channels and along tokens, last axes that are short,
** odd and long, broadcasts, views of everything, sums over every axis.
** Models are compiled and run in a process of their own, so that whatever
** happens has a name; when one fails, its parts are tried one by one.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "small_model.h"

/* == Running ============================================================== */

/* Adds part 'part' of what is to be tested; false: there are no more. */
typedef bool (*Build)(Probe *p, int variant, int part);

typedef struct Unit {
    const char *name;
    Build build;
    int variant, first, count; /* parts */
    int together, level;
    int64_t dim;
    const char *cpu;
    const Extent *extent;
} Unit;

static const Extent extents[] = { { 1, 1 }, { 1, 7 }, { 3, 13 }, { 0 } };

static int run_unit(void *arg) {
    const Unit *u = arg;
    char why[700] = "";
    Probe p = probe_new((uint64_t)u->variant + 1, u->dim, u->together);
    probe_read(&p, p.x);
    for (int i = 0; i < u->count && u->build(&p, u->variant, u->first + i);)
        i++;
    CodegenOptions o = { .cpu = u->cpu, .level = u->level };
    if (graph_answer(probe_end(&p, NULL), 7, &o, u->extent, why, sizeof why) == AGREES) return 0;
    fprintf(stderr, "%s\n", why);
    return 1;
}

static int parts_of(const Unit *u) {
    Probe p = probe_new(1, u->dim, 1);
    int n = 0;
    while (u->build(&p, u->variant, n))
        n++;
    graph_free(p.g);
    return n;
}

/* Halves a unit that fails until no half fails by itself. */
static void blame(Unit u, int status) {
    for (int half = u.count / 2; half; half = u.count / 2) {
        Unit a = u, b = u;
        a.count = half;
        b.first += half;
        b.count -= half;
        int now = apart(run_unit, &a);
        if (now) u = a;
        else if ((now = apart(run_unit, &b))) u = b;
        else break;
        status = now;
    }
    fprintf(stderr, "%s, variant %d, %s, -O%d: parts %d to %d fail with status %d\n", u.name,
            u.variant, u.cpu, u.level, u.first, u.first + u.count - 1, status);
}

/* Each variant for one processor, in turn; STRATA_TEST_ALL=1: for all that this machine is. */
static bool is_turn(int variant, int cpu, int cpus) {
    if (variant % compiled_every()) return false;
    return getenv("STRATA_TEST_ALL") || variant % cpus == cpu;
}

static void check(const char *name, Build build, int variants, int64_t dim, int together,
                  const Extent *extent) {
    const char *const *cpu = compiled_cpus();
    int failures = 0, cpus = 0;
    while (cpu[cpus])
        cpus++;
    for (int i = 0; i < variants * cpus; i++) {
        int variant = i / cpus;
        if (!is_turn(variant, i % cpus, cpus)) continue;
        Unit u = { name, build,         variant, 0, 0, together, variant % 8 == 5 ? 2 : 0,
                   dim,  cpu[i % cpus], extent };
        u.count = parts_of(&u);
        int status = apart(run_unit, &u);
        if (!status) continue;
        failures++;
        blame(u, status);
    }
    assert_int_equal(failures, 0);
}

/* == Shapes =============================================================== */

static const Shape shapes[] = {
    { .rank = 0 },
    { .rank = 1, .dim = { 1 } },
    { .rank = 1, .dim = { 5 } },
    { .rank = 1, .dim = { 17 } },
    { .rank = 1, .dim = { 100 } },
    { .rank = 1, .dim = { 128 } },
    { .rank = 2, .dim = { 4, 8 } },
    { .rank = 2, .dim = { 3, 33 } },
    { .rank = 2, .dim = { 33, 3 } },
    { .rank = 2, .dim = { 2, 64 } },
    { .rank = 2, .dim = { 20, 1 } },
    { .rank = 2, .dim = { 1, 17 } },
    { .rank = 3, .dim = { 2, 3, 5 } },
    { .rank = 3, .dim = { 3, 2, 18 } },
    { .rank = 3, .dim = { 2, 17, 1 } },
    { .rank = 4, .dim = { 2, 1, 3, 16 } },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* == Pointwise ops ======================================================== */

static Op pointwise_row(int number) {
    for (int op = 0; op < NOP; op++)
        if (op_is_function((Op)op) && number-- == 0) return (Op)op;
    return NOP;
}

/* The kinds of operands that go with a value of shape s; count: KINDS. */
enum { KINDS = 9 };

static Node *operand(Probe *p, const Shape *s, int kind) {
    Shape t = *s;
    switch (kind) {
    case 0: return probe_rows(p, t);
    case 1: return op_tanh(probe_stored(p, t));
    case 2: return op_tanh(probe_param(p, t));
    case 3: return op_fill(p->g, 0.375);
    case 4: return probe_rows(p, (Shape){ 0 });
    case 5:
    case 6: /* without an axis at the front, or with one of length 1 */
        if (t.rank && kind == 5) memmove(t.dim, t.dim + 1, (size_t)--t.rank * sizeof *t.dim);
        if (t.rank && kind == 6) t.dim[0] = 1;
        return probe_rows(p, t);
    default: /* the last axis of length 1, a value per token or for all */
        if (t.rank) t.dim[t.rank - 1] = 1;
        return kind == 7 ? probe_rows(p, t) : op_tanh(probe_param(p, t));
    }
}

/* Part i: op i / KINDS with operands of kinds that go through all of them. */
static bool build_pointwise(Probe *p, int variant, int part) {
    Op op = pointwise_row(part / KINDS);
    if (op == NOP) return false;
    int arity = op_info[op].arity, kind = part % KINDS;
    if (arity == 1 && kind > 2) return true;
    bool positive = needs_positive(op);
    const char *error;
    Node *in[3];
    for (int i = 0; i < arity; i++) {
        int own = i == (kind + variant) % arity ? kind
            : i == 0                            ? 0
                                                : (kind * 5 + i + variant) % KINDS;
        in[i] = operand(p, &shapes[variant], own);
        if (positive) in[i] = op_exp(in[i]);
    }
    Node *y = node_new(p->g, op, arity, in, (Attr){ 0 }, &error);
    if (!y) bug(in[0], "%s", error);
    probe_read(p, y);
    return true;
}

static void every_pointwise_op_agrees(void **state) {
    (void)state;
    check("pointwise", build_pointwise, SHAPES, 8, 12, extents);
}

/* == Sums, peaks, softmax ================================================= */

static Node *value(Probe *p, const Shape *s, int kind) {
    switch (kind % 4) {
    case 0: return probe_stored(p, *s);
    case 1: return probe_rows(p, *s);
    case 2: return op_mul(probe_stored(p, *s), op_tanh(probe_param(p, *s)));
    default: return op_tanh(probe_param(p, *s));
    }
}

static Node *reduced(Node *x, int which, int axis) {
    if (which == 0) return op_sum(x, axis);
    if (which == 1) return op_peak(x, axis);
    if (which == 2) return op_softmax(x, axis);
    Node *mean = op_scale(op_sum(op_mul(x, x), axis), 1.0 / (double)x->shape.dim[axis]);
    Shape kept = x->shape;
    kept.dim[axis] = 1;
    kept.lead = LEAD_NONE;
    return op_mul(x, op_reshape(op_rsqrt(op_add(mean, op_fill(x->g, 1e-3))), &kept));
}

/* Part: kind of value, way of reducing, axis. */
static bool build_reductions(Probe *p, int variant, int part) {
    const Shape *s = &shapes[variant];
    int axis = part % MAXRANK, which = part / MAXRANK % 4, kind = part / MAXRANK / 4;
    if (kind == 4) return false;
    if (axis < s->rank) probe_read(p, reduced(value(p, s, kind), which, axis));
    return true;
}

static void sums_peaks_and_softmax_agree(void **state) {
    (void)state;
    check("reductions", build_reductions, SHAPES, 8, 8, extents);
}

/* == Views ================================================================ */

static Node *transposed(Node *x, int number) {
    int perm[MAXRANK], left[MAXRANK] = { 0, 1, 2, 3 }, rank = x->shape.rank;
    for (int i = 0; i < rank; i++) {
        int k = number % (rank - i);
        number /= rank - i;
        perm[i] = left[k];
        memmove(left + k, left + k + 1, (size_t)(rank - i - k - 1) * sizeof *left);
    }
    return op_transpose(x, perm);
}

static Node *reshaped(Node *x, int number) {
    int64_t count = shape_count(&x->shape), rows = 1;
    for (int64_t d = 2; d <= count; d++)
        if (count % d == 0 && number-- <= 0) {
            rows = d;
            break;
        }
    Shape s = { .rank = 3, .dim = { rows, 1, count / rows } };
    return op_reshape(x, &s);
}

static Node *sliced(Node *x, int number) {
    int axis = number % x->shape.rank;
    int64_t n = x->shape.dim[axis];
    return op_slice(x, axis, n / 3, n - n / 3 - (n > 2 && number % 2));
}

static Node *joined(Probe *p, Node *x, int number) {
    int axis = number % x->shape.rank;
    Shape other = x->shape;
    other.lead = LEAD_NONE;
    other.dim[axis] = 1 + number % 3 * 7;
    Node *part[] = { probe_rows(p, other), x, probe_param(p, other), op_exp(x) };
    return op_concat(p->g, 4, part, axis);
}

static Node *stacked(Probe *p, Node *x) {
    Shape s = x->shape;
    s.lead = LEAD_NONE;
    Node *part[] = { x, probe_stored(p, s), op_neg(x), probe_param(p, s) };
    return op_stack(p->g, 4, part);
}

/* After something that is computed elsewhere, from x or not. */
static Node *waiting(Probe *p, Node *x, int number) {
    Shape s = { .rank = 1, .dim = { 7 } };
    Node *other[] = { probe_stored(p, s), op_tanh(x) };
    if (x->shape.lead == LEAD_NONE) return op_after(x, 1, &other[1]);
    return op_after(x, 1 + number % 2, other);
}

enum { VIEWS = 6 };

static Node *viewed(Probe *p, Node *x, int which, int number) {
    switch (which) {
    case 0: return transposed(x, number + 1);
    case 1: return reshaped(x, number % 3);
    case 2: return x->shape.rank ? sliced(x, number) : x;
    case 3: return x->shape.rank ? joined(p, x, number) : x;
    case 4: return waiting(p, x, number);
    default: return x->shape.rank < MAXRANK && shape_count(&x->shape) <= 128 ? stacked(p, x) : x;
    }
}

/* Part: a view of a view of a value, used as it is and in a computation. */
static bool build_views(Probe *p, int variant, int part) {
    int first = part % VIEWS, second = part / VIEWS % VIEWS, kind = part / VIEWS / VIEWS;
    if (kind == 3) return false;
    Node *x = value(p, &shapes[variant], kind);
    Node *y = viewed(p, viewed(p, x, first, part), second, part / 2);
    probe_read(p, part % 2 ? y : op_mul(y, op_sigmoid(y)));
    return true;
}

static void views_of_views_agree(void **state) {
    (void)state;
    check("views", build_views, SHAPES, 8, 8, extents);
}

/* == Lists of sources ===================================================== */

/* Sources made by computations and products, read as depth reads do. */
static Node *list(Probe *p, int n, const Shape *s) {
    Node **source = graph_alloc(p->g, (size_t)n * sizeof *source);
    for (int i = 0; i < n; i++)
        source[i] = i % 3 == 1 ? op_add(source[i - 1], probe_stored(p, *s))
            : i % 5 == 4       ? probe_rows(p, *s)
                               : probe_stored(p, *s);
    return op_stack(p->g, n, source);
}

static Node *softmax_read(Probe *p, Node *V, int n, int64_t D) {
    Shape channel = probe_shape(1, &D), row = probe_shape(2, (int64_t[]){ n, 1 });
    Node *square = op_scale(op_sum(op_mul(V, V), 1), 1.0 / (double)D);
    Node *z = op_mul(op_sum(op_mul(V, probe_param(p, channel)), 1),
                     op_rsqrt(op_add(square, op_fill(p->g, 1e-4))));
    return op_sum(op_mul(op_reshape(op_softmax(z, 0), &row), V), 0);
}

static Node *heads_read(Probe *p, Node *V, int n, int64_t D, int64_t H) {
    Shape channel = probe_shape(1, &D), heads = probe_shape(3, (int64_t[]){ n, H, D / H });
    Shape wide = probe_shape(3, (int64_t[]){ n, H, 1 }), flat = probe_shape(1, &D);
    Node *z = op_sum(op_reshape(op_mul(V, probe_param(p, channel)), &heads), 2);
    Node *alpha = op_reshape(op_sigmoid(z), &wide);
    return op_reshape(op_sum(op_mul(alpha, op_reshape(V, &heads)), 0), &flat);
}

static bool build_lists(Probe *p, int variant, int part) {
    static const int counts[] = { 1, 2, 3, 5, 16, 17, 20, 41 };
    static const int64_t dims[] = { 6, 18, 40 };
    if (part == 3) return false;
    int n = counts[variant];
    int64_t D = dims[part];
    Shape s = probe_shape(1, &D);
    Node *V = list(p, n, &s);
    probe_read(p, softmax_read(p, V, n, D));
    probe_read(p, heads_read(p, V, n, D, 2));
    probe_read(p, op_slice(V, 0, n / 2, 1));
    return true;
}

static void lists_of_sources_agree(void **state) {
    (void)state;
    check("lists", build_lists, 8, 12, 1, extents);
}

/* == Values that several places use ======================================= */

/* A value that sums, products, later kernels and attention all read. */
static Node *often(Probe *p, Node *h) {
    int64_t D = h->shape.dim[0];
    const char *error;
    Shape heads = probe_shape(2, (int64_t[]){ 2, D / 2 }), flat = probe_shape(1, &D);
    Node *v = op_reshape(h, &heads);
    Node *in[] = { v, op_reshape(op_tanh(h), &heads), op_reshape(probe_stored(p, heads), &heads) };
    Node *a = op_reshape(
        node_new(p->g, OP_attention, 3, in, (Attr){ .value = 0.4, .causal = true }, &error), &flat);
    Node *mean = op_mul(op_token_sum(op_mul(h, a)), op_source(p->g, OP_per_token));
    return op_add(op_add(h, a), op_mul(op_sigmoid(mean), h));
}

/* Parameters used for every token, and computations of parameters alone. */
static Node *with_params(Probe *p, Node *h) {
    Shape s = h->shape;
    s.lead = LEAD_NONE;
    Node *a = probe_param(p, s), *b = probe_param(p, (Shape){ 0 });
    Node *soft = op_softmax(op_mul(a, b), 0);
    return op_mul(op_add(h, op_exp(op_neg(op_mul(b, b)))), op_add(soft, op_sum(op_mul(a, a), 0)));
}

static bool build_uses(Probe *p, int variant, int part) {
    static const int64_t dims[] = { 8, 24, 34, 100 };
    if (part == 4) return false;
    int64_t D = dims[variant];
    Shape s = probe_shape(1, &D);
    Node *h = part % 2 ? probe_stored(p, s) : probe_rows(p, s);
    Node *y = part < 2 ? often(p, h) : with_params(p, h);
    Node *n = op_rsqrt(op_add(op_sum(op_mul(y, y), 0), op_fill(p->g, 1)));
    probe_read(p, op_mul(y, n));
    probe_read(p, n);
    probe_read(p, op_mul(h, op_exp(op_neg(n))));
    return true;
}

static const Extent odd_extents[] = { { 1, 1 },  { 1, 7 },   { 7, 9 },   { 1, 64 }, { 5, 13 },
                                      { 2, 65 }, { 3, 100 }, { 2, 129 }, { 0 } };

static void shared_values_agree_for_any_number_of_tokens(void **state) {
    (void)state;
    check("uses", build_uses, 4, 16, 2, odd_extents);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pointwise_op_agrees),
        cmocka_unit_test(sums_peaks_and_softmax_agree),
        cmocka_unit_test(views_of_views_agree),
        cmocka_unit_test(lists_of_sources_agree),
        cmocka_unit_test(shared_values_agree_for_any_number_of_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
