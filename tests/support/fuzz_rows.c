/* SPDX-License-Identifier: MIT
** A pool of values grows by draws; operands come from its newer end mostly, so
** that chains get long.  Every value is kept between -1 and 1 or so.
*/
#include "fuzz_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_graph.h"
#include "recurrence_draw.h"
#include "small_model.h"

enum { POOL = 512, MOST = 512 }; /* values; elements per token */

typedef struct Rows {
    Probe p;
    Node *pool[POOL];
    bool used[POOL];
    int n;
} Rows;

static int below(Rows *r, int count) { return draw_below(&r->p.random, count); }

static void keep(Rows *r, Node *n) {
    if (r->n < POOL && shape_count(&n->shape) <= MOST) r->pool[r->n++] = n;
}

static Node *any(Rows *r) {
    int i = below(r, 3) ? r->n - 1 - below(r, r->n < 6 ? r->n : 6) : below(r, r->n);
    r->used[i] = true;
    return r->pool[i];
}

static int64_t length(Rows *r) {
    static const int64_t lengths[] = { 1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 33, 64, 100 };
    return lengths[below(r, 13)];
}

/* == Draws ================================================================ */

static Node *tame(Rows *r, Node *x) {
    switch (below(r, 4)) {
    case 0: return op_tanh(x);
    case 1: return op_sub(op_sigmoid(x), op_fill(x->g, 0.5));
    case 2: return op_erf(x);
    default: return op_tanh(op_scale(x, 0.75));
    }
}

static Node *partner(Rows *r, const Node *x) {
    for (int tries = 0; tries < 12; tries++) {
        Shape joint;
        Node *y = any(r);
        if (!shape_broadcast(&x->shape, &y->shape, &joint) && shape_count(&joint) <= MOST) return y;
    }
    Shape s = x->shape;
    for (int i = 0; i < s.rank; i++)
        if (!below(r, 3)) s.dim[i] = 1;
    return below(r, 2) ? probe_param(&r->p, s) : probe_rows(&r->p, s);
}

static Node *draw_pointwise(Rows *r) {
    Op op;
    const char *error;
    do
        op = (Op)below(r, NOP);
    while (!op_is_function(op));
    bool positive = needs_positive(op);
    Node *in[3] = { any(r) }, *sum = in[0];
    for (int i = 1; i < op_info[op].arity; i++) {
        in[i] = partner(r, sum);
        sum = op_add(sum, in[i]);
    }
    for (int i = 0; i < op_info[op].arity && positive; i++)
        in[i] = op_exp(op_tanh(in[i]));
    Node *y = node_new(r->p.g, op, op_info[op].arity, in, (Attr){ 0 }, &error);
    if (!y) bug(in[0], "%s", error);
    return below(r, 2) ? y : tame(r, y);
}

static Node *with_axis(Rows *r) {
    Node *x = any(r);
    Shape column = { .rank = 1, .dim = { 1 } };
    return x->shape.rank ? x : op_reshape(x, &column);
}

static Node *draw_reduce(Rows *r) {
    Node *x = with_axis(r);
    int axis = below(r, x->shape.rank);
    double n = (double)x->shape.dim[axis];
    switch (below(r, 4)) {
    case 0: return op_softmax(x, axis);
    case 1: return op_scale(op_peak(x, axis), 0.9);
    case 2:
        return op_sqrt(op_add(op_scale(op_sum(op_mul(x, x), axis), 1 / n), op_fill(x->g, 0.01)));
    default: return op_scale(op_sum(op_mul(x, partner(r, x)), axis), 1 / sqrt(n));
    }
}

static Node *safe_reduce(Rows *r) {
    Node *x = with_axis(r);
    int axis = below(r, x->shape.rank);
    Node *y = draw_reduce(r);
    return below(r, 2) ? y : op_scale(op_sum(x, axis), 1 / sqrt((double)x->shape.dim[axis]));
}

static Node *draw_transpose(Rows *r) {
    Node *x = any(r);
    int perm[MAXRANK];
    for (int i = 0; i < x->shape.rank; i++) {
        int j = below(r, i + 1);
        perm[i] = perm[j];
        perm[j] = i;
    }
    return op_transpose(x, perm);
}

static Node *draw_reshape(Rows *r) {
    Node *x = any(r);
    int64_t count = shape_count(&x->shape), rows = 1;
    for (int64_t d = 2; d <= count; d++)
        if (count % d == 0 && !below(r, 2)) {
            rows = d;
            break;
        }
    Shape s = { .rank = 2 + below(r, 2), .dim = { rows, count / rows, 1 } };
    return op_reshape(x, &s);
}

static Node *draw_slice(Rows *r) {
    Node *x = with_axis(r);
    int axis = below(r, x->shape.rank), n = (int)x->shape.dim[axis], first = below(r, n);
    return op_slice(x, axis, first, 1 + below(r, n - first));
}

static Node *draw_concat(Rows *r) {
    Node *x = with_axis(r);
    int axis = below(r, x->shape.rank);
    Shape other = x->shape;
    other.dim[axis] = length(r);
    Node *part[] = { x, probe_param(&r->p, other), probe_stored(&r->p, other), tame(r, x) };
    return op_concat(r->p.g, 2 + below(r, 3), part, axis);
}

/* What has no tokens waits for nothing that has. */
static Node *draw_after(Rows *r) {
    Node *x = any(r), *y[] = { any(r), any(r) };
    int n = below(r, 3);
    for (int i = 0; i < n; i++)
        if (x->shape.lead == LEAD_NONE && y[i]->shape.lead != LEAD_NONE) n = i;
    return op_after(x, n, y);
}

/* Of a matrix above 0, or of several, in one stretch or two; sometimes the way back. */
static Node *draw_sinkhorn(Rows *r) {
    Node *x = draw_reshape(r);
    Shape s = { .rank = 2, .dim = { x->shape.dim[0], x->shape.dim[1] } };
    const char *error;
    if (below(r, 4)) x = op_reshape(x, &s);
    bool back = !below(r, 3);
    Node *in[] = { op_exp(op_tanh(x)), op_tanh(x) };
    Attr attr = { .count = below(r, 5) ? 1 + below(r, 6) : 70 };
    if (attr.count % 3 == 0) attr.value = 0.05;
    Node *y = node_new(r->p.g, back ? OP_sinkhorn_grad : OP_sinkhorn, 1 + back, in, attr, &error);
    return back ? op_tanh(op_stop_gradient(y)) : y;
}

/* A depth read over sources that were made in different places. */
static Node *draw_stack(Rows *r) {
    Node *part[24] = { any(r) };
    int n = 1 + below(r, below(r, 4) ? 5 : 24);
    if (part[0]->shape.rank == MAXRANK) part[0] = op_sum(part[0], 0);
    Shape s = part[0]->shape;
    for (int i = 1; i < n; i++) {
        Node *y = any(r);
        part[i] = shape_equal(&y->shape, &s) ? y
            : below(r, 2)                    ? probe_stored(&r->p, s)
                                             : op_scale(part[i - 1], 0.5);
    }
    Node *V = op_stack(r->p.g, n, part);
    if (below(r, 3) == 0) return V;
    Shape row = { .rank = 1 + s.rank, .dim = { n, 1, 1, 1 } };
    Node *z = V;
    while (z->shape.rank > 1)
        z = op_scale(op_sum(z, z->shape.rank - 1), 0.3);
    return op_sum(op_mul(op_reshape(op_softmax(z, 0), &row), V), 0);
}

static Node *flat(Rows *r, Node *x) {
    Shape s = { .rank = 1, .dim = { shape_count(&x->shape) } };
    x = op_reshape(x, &s);
    return x->shape.lead == LEAD_TOKENS
        ? x
        : op_mul(x, probe_rows(&r->p, (Shape){ .rank = 1, .dim = { 1 } }));
}

static Node *product(Rows *r, Node *x, int64_t count) {
    x = flat(r, x);
    return op_linear(x, probe_param(&r->p, probe_shape(2, (int64_t[]){ count, x->shape.dim[0] })));
}

static Node *draw_linear(Rows *r) {
    int64_t M = length(r);
    Node *y = product(r, any(r), M);
    return below(r, 3) ? y : op_add(y, product(r, any(r), M));
}

static Node *heads(Rows *r, int64_t H, int64_t d) {
    Shape s = probe_shape(2, (int64_t[]){ H, d });
    return op_reshape(product(r, any(r), H * d), &s);
}

static Node *draw_each(Rows *r) {
    static const int64_t sizes[] = { 1, 4, 7, 16, 33, 40 };
    int64_t parts = 1 + below(r, 4), rows = sizes[below(r, 6)], steps = sizes[below(r, 6)];
    Attr attr = { .first = below(r, (int)rows), .back = below(r, 2) };
    attr.count = 1 + below(r, (int)(rows - attr.first));
    const char *error;
    Node *in[] = { heads(r, parts, attr.back ? attr.count : steps),
                   probe_param(&r->p, probe_shape(3, (int64_t[]){ parts, rows, steps })) };
    return node_new(r->p.g, OP_linear_each, 2, in, attr, &error);
}

/* What may shape scores; how many operands there are then. */
static int draw_shaping(Rows *r, int64_t H, int64_t d, Node **in, Attr *attr) {
    if (!below(r, 3)) attr->softcap = draw_uniform(&r->p.random, 0.3, 2);
    if (!below(r, 3)) attr->values = 1 + below(r, (int)d), in[2] = in[1];
    if (!attr->causal) return 3;
    if (!below(r, 2)) attr->window = 1 + below(r, 30);
    if (below(r, 3)) return 3;
    in[3] = heads(r, H, 1 + below(r, 20));
    return 4;
}

static Node *draw_attention(Rows *r) {
    static const int64_t sizes[] = { 2, 4, 8, 16, 18 };
    int64_t G = 1 + below(r, 2), H = G * (1 + below(r, 2)), d = sizes[below(r, 5)];
    const char *error;
    Node *in[4] = { heads(r, H, d), heads(r, G, d), heads(r, G, sizes[below(r, 5)]) };
    Attr attr = { .causal = below(r, 2),
                  .value = draw_uniform(&r->p.random, 0.3, 1),
                  .count = below(r, 3) ? 0 : 1 + below(r, 20) };
    int operands = attr.count ? 3 : draw_shaping(r, H, d, in, &attr);
    Node *o = node_new(r->p.g, OP_attention, operands, in, attr, &error);
    return below(r, 3) ? o : op_sigmoid(op_side(o, 1));
}

static Node *draw_conv(Rows *r) {
    int64_t G = length(r), width = 1 + below(r, 3), n = 1 + below(r, 6);
    const char *error;
    Node *x = product(r, any(r), G * width);
    if (!below(r, 3)) return op_shift(below(r, 2) ? x : op_tanh(x), n, true);
    Node *in[] = { below(r, 2) ? x : op_tanh(x), below(r, 2) ? heads(r, G, n) : NULL };
    if (!in[1]) in[1] = probe_param(&r->p, probe_shape(2, (int64_t[]){ G, n }));
    if (!below(r, 3)) in[1] = op_tanh(in[1]);
    return op_scale(node_new(r->p.g, OP_conv, 2, in, (Attr){ 0 }, &error), 0.5);
}

static Node *draw_recurrence(Rows *r) {
    static const int64_t sizes[] = { 2, 4, 8, 16, 18 };
    int64_t G = 1 + below(r, 2), H = G * (1 + below(r, 2)), d = sizes[below(r, 5)];
    Node *q = heads(r, G, d), *k = heads(r, G, d), *v = heads(r, H, sizes[below(r, 5)]);
    Node *decay = !below(r, 3) ? NULL : below(r, 2) ? heads(r, H, d) : product(r, any(r), H);
    Node *rate = decay && decay->shape.rank == 1 && below(r, 2)
        ? probe_param(&r->p, probe_shape(2, (int64_t[]){ H, d }))
        : NULL;
    return drawn_recurrence(q, k, v, decay, rate, below(r, 2) ? product(r, any(r), H) : NULL);
}

/* Rows of some tokens, and back among all. */
static Node *draw_some(Rows *r) {
    const char *error;
    Node *x = any(r), *w = probe_param(&r->p, probe_shape(2, (int64_t[]){ PROBE_VOCAB, 1 }));
    if (x->shape.lead != LEAD_TOKENS) return x;
    Node *mask = op_greater(op_reshape(op_embed(w, op_source(r->p.g, OP_tokens)), &(Shape){ 0 }),
                            op_fill(r->p.g, 0));
    Node *rows = node_new(r->p.g, OP_rows, 1, &mask, (Attr){ .count = graph_lists(r->p.g) + 1 },
                          &error);
    return op_scatter(op_tanh(op_gather(x, rows)), rows);
}

static Node *draw_wave(Rows *r) {
    double frequency[100];
    const char *error;
    Node *position = op_source(r->p.g, OP_position);
    Attr attr = { .value = 0.75, .count = length(r), .frequency = frequency, .sine = below(r, 2) };
    for (int i = 0; i < 100; i++)
        frequency[i] = pow(0.9, i);
    Node *wave = node_new(r->p.g, OP_wave, 1, &position, attr, &error);
    return op_mul(wave, partner(r, wave));
}

/* The mean over tokens, used for every token. */
static Node *draw_mean(Rows *r) {
    Node *x = any(r);
    if (x->shape.lead == LEAD_NONE) return op_exp(op_neg(op_mul(x, x)));
    Node *mean = op_mul(op_token_sum(x), op_source(r->p.g, OP_per_token));
    return op_add(op_tanh(mean), op_mul(x, mean));
}

static Node *draw_param(Rows *r) {
    Shape s = { .rank = below(r, 3) };
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = length(r) / (i ? 4 : 1) + 1;
    return op_tanh(probe_param(&r->p, s));
}

typedef Node *(*Draw)(Rows *r);
static const Draw draws[] = {
    draw_pointwise, draw_pointwise, draw_pointwise, draw_pointwise, draw_pointwise,  safe_reduce,
    safe_reduce,    draw_sinkhorn,  draw_transpose, draw_reshape,   draw_slice,      draw_concat,
    draw_stack,     draw_linear,    draw_linear,    draw_attention, draw_wave,       draw_mean,
    draw_param,     draw_after,     draw_some,      draw_conv,      draw_recurrence, draw_each,
};

/* == Graphs =============================================================== */

Graph *fuzz_rows(uint64_t seed, int ops) {
    Rows *r = calloc(1, sizeof *r);
    if (!r) abort();
    Random first = { seed };
    static const int64_t dims[] = { 4, 8, 12, 16, 24, 33, 64 };
    r->p = probe_new(seed * 7919 + 1, dims[draw_below(&first, 7)], 1 + draw_below(&first, 6));
    keep(r, r->p.x);
    for (int i = 0; i < ops; i++)
        keep(r, draws[below(r, (int)(sizeof draws / sizeof *draws))](r));
    for (int i = 0; i < r->n; i++)
        if (!r->used[i] || !below(r, 5)) probe_read(&r->p, r->pool[i]);
    Node *term = below(r, 3) ? NULL : op_scale(sum_all(op_mul(r->pool[0], r->pool[0])), 1e-3);
    Graph *g = probe_end(&r->p, term ? op_mul(term, op_source(r->p.g, OP_per_token)) : NULL);
    free(r);
    return g;
}

/* Logits are computed without targets. */
static bool *made_of_targets(const Graph *g) {
    bool *made = graph_alloc((Graph *)g, (size_t)g->n + 1);
    for (int i = 0; i < g->n; i++) {
        made[i] = g->node[i]->op == OP_targets;
        for (int k = 0; k < g->node[i]->nin; k++)
            made[i] |= made[g->node[i]->in[k]->id];
    }
    return made;
}

Graph *fuzz_model(uint64_t seed, int ops) {
    Graph *g = fuzz_graph(seed, ops);
    Node *term = graph_find(g, "loss"), *sum = NULL;
    Probe p = { .g = g, .random = { seed }, .params = 10000 };
    bool *late = made_of_targets(g);
    for (int i = 0; i < g->nout; i++) {
        Node *y = g->out[i].node;
        Shape flat = { .rank = 1, .dim = { shape_count(&y->shape) } };
        if (y->shape.lead == LEAD_NONE || late[y->id]) continue;
        Shape w = probe_shape(2, (int64_t[]){ FUZZ_VOCAB, flat.dim[0] });
        Node *part = op_linear(op_tanh(op_reshape(y, &flat)), probe_param(&p, w));
        sum = sum ? op_add(sum, part) : part;
    }
    if (!sum)
        sum = op_embed(probe_param(&p, probe_shape(2, (int64_t[]){ FUZZ_VOCAB, FUZZ_VOCAB })),
                       op_source(g, OP_tokens));
    p.sum = sum;
    return probe_end_of(&p, FUZZ_VOCAB, op_scale(term, 0.05));
}
