/* SPDX-License-Identifier: MIT
** See fuzz_draw.h. */
#include "fuzz_draw.h"

#include <math.h>
#include <stdlib.h>

static int below(Fuzz *f, int count) { return draw_below(&f->random, count); }

static Node *any(Fuzz *f) { return f->pool[below(f, f->n)]; }

Node *fuzz_param(Fuzz *f, Shape s) {
    char name[32];
    const char *error;
    snprintf(name, sizeof name, "p%d", f->params++);
    s.lead = LEAD_NONE;
    return graph_param(f->g, name, s, (Init){ .kind = INIT_NORMAL, .value = 0.5 }, &error);
}

static Shape matrix(int64_t rows, int64_t columns) {
    return (Shape){ .rank = 2, .dim = { rows, columns } };
}

int64_t fuzz_length(Fuzz *f) {
    static const int64_t lengths[] = { 1, 2, 3, 4, 5, 8 };
    return lengths[below(f, 6)];
}

static Shape random_shape(Fuzz *f) {
    Shape s = { .rank = below(f, 4) };
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i < 2 ? fuzz_length(f) : 1 + below(f, 2);
    return s;
}

static Node *ids(Fuzz *f) { return op_source(f->g, below(f, 3) ? OP_tokens : OP_position); }

/* == Operands as an op wants them ========================================= */

Node *fuzz_dense(Node *x) {
    return x->shape.list ? op_scatter(x, graph_list(x->g, x->shape.list)) : x;
}

Node *fuzz_vector(Fuzz *f) {
    Node *x = fuzz_dense(any(f));
    Shape flat = { .rank = 1, .dim = { shape_count(&x->shape) } };
    x = op_reshape(op_tanh(x), &flat);
    if (x->shape.lead == LEAD_TOKENS) return x;
    Shape rows = flat;
    rows.lead = LEAD_TOKENS;
    return op_add(x, op_full(f->g, &rows, 0.125));
}

Node *fuzz_vector_of(Fuzz *f, int64_t count) {
    Node *x = fuzz_vector(f);
    return op_linear(x, fuzz_param(f, matrix(count, x->shape.dim[0])));
}

Node *fuzz_heads(Fuzz *f, int64_t count, int64_t size) {
    Shape s = matrix(count, size);
    return op_reshape(fuzz_vector_of(f, count * size), &s);
}

static Node *with_axis(Fuzz *f) {
    Node *x = any(f);
    Shape column = { .rank = 1, .dim = { 1 } };
    return x->shape.rank ? x : op_reshape(x, &column);
}

/* Something that broadcasts with x; x itself if the pool has nothing. */
static Node *partner(Fuzz *f, Node *x) {
    for (int tries = 0; tries < 16; tries++) {
        Shape joint;
        Node *y = any(f);
        if (!shape_broadcast(&x->shape, &y->shape, &joint) && shape_count(&joint) <= MOST) return y;
    }
    return x;
}

static Node *pointwise(Fuzz *f, Op op) {
    bool positive = needs_positive(op);
    Node *in[3] = { any(f) };
    const char *error;
    Shape joint = in[0]->shape;
    for (int i = 1; i < op_info[op].arity; i++) {
        in[i] = partner(f, op_full(f->g, &joint, 0));
        if (shape_broadcast(&joint, &in[i]->shape, &joint)) abort();
    }
    for (int i = 0; i < op_info[op].arity; i++)
        in[i] = positive ? op_exp(op_tanh(in[i])) : op_tanh(in[i]);
    Node *y = node_new(f->g, op, op_info[op].arity, in, (Attr){ 0 }, &error);
    if (!y) bug(in[0], "%s", error);
    return y;
}

/* == Structural draws ===================================================== */

static Node *draw_reshape(Fuzz *f) {
    Node *x = any(f);
    int64_t count = shape_count(&x->shape), rows = 1;
    for (int64_t d = 2; d <= count; d++)
        if (count % d == 0 && below(f, 2)) {
            rows = d;
            break;
        }
    Shape s = { .rank = 3, .dim = { rows, 1, count / rows } };
    return op_reshape(x, &s);
}

static Node *draw_transpose(Fuzz *f) {
    Node *x = any(f);
    int perm[MAXRANK];
    for (int i = 0; i < x->shape.rank; i++) {
        int j = below(f, i + 1);
        perm[i] = perm[j];
        perm[j] = i;
    }
    return op_transpose(x, perm);
}

static Node *draw_slice(Fuzz *f) {
    Node *x = with_axis(f);
    int axis = below(f, x->shape.rank);
    int first = below(f, (int)x->shape.dim[axis]);
    return op_slice(x, axis, first, 1 + below(f, (int)x->shape.dim[axis] - first));
}

static Node *draw_concat(Fuzz *f) {
    Node *x = with_axis(f);
    int axis = below(f, x->shape.rank);
    Shape other = x->shape;
    other.dim[axis] = fuzz_length(f);
    Node *part[] = { x, op_tanh(x), NULL };
    part[2] = fuzz_param(f, other);
    return op_concat(f->g, 3, part, axis);
}

static Node *draw_stack(Fuzz *f) {
    Node *part[5] = { any(f) };
    int n = 1 + below(f, 5);
    if (part[0]->shape.rank == MAXRANK) part[0] = op_sum(part[0], 0);
    for (int i = 1; i < n; i++)
        part[i] = below(f, 2) ? fuzz_param(f, part[0]->shape) : op_scale(part[i - 1], 0.5);
    return op_stack(f->g, n, part);
}

/* What has no tokens waits for nothing that has. */
static Node *draw_after(Fuzz *f) {
    Node *x = fuzz_dense(any(f)), *y = fuzz_dense(any(f));
    if (x->shape.lead == LEAD_NONE && y->shape.lead != LEAD_NONE) return op_after(y, 1, &x);
    return op_after(x, 1, &y);
}

static Node *draw_product(Fuzz *f, Op op) {
    Node *x = fuzz_vector(f);
    int64_t K = x->shape.dim[0], M = fuzz_length(f);
    Shape w = op == OP_linear ? matrix(M, K) : matrix(K, M);
    Node *in[3] = { x, fuzz_param(f, w) };
    const char *error;
    bool onto = below(f, 3) == 0;
    if (onto) in[2] = fuzz_vector_of(f, M);
    return node_new(f->g, op, 2 + onto, in, (Attr){ 0 }, &error);
}

/* A number that every token has its own of, the same for equal ids: far from 0, or a tie. */
static Node *token_number(Fuzz *f) {
    return op_reshape(op_embed(fuzz_param(f, matrix(FUZZ_VOCAB, 1)), ids(f)), &(Shape){ 0 });
}

/* A list of rows, of all tokens or none now and then. */
Node *fuzz_list(Fuzz *f) {
    const char *error;
    Node *x = token_number(f),
         *mask = op_greater(x,
                            op_fill(f->g,
                                    below(f, 6)       ? 0
                                        : below(f, 2) ? 9
                                                      : -9));
    return node_new(f->g, OP_rows, 1, &mask, (Attr){ .count = graph_lists(f->g) + 1 }, &error);
}

static Node *draw_top(Fuzz *f) {
    const char *error;
    Node *x = token_number(f);
    return node_new(f->g, OP_top, 1, &x, (Attr){ .value = draw_uniform(&f->random, 0.01, 1) },
                    &error);
}

/* A training step's own, times 0: what it is compared with is computed for all programs at once. */
static Node *draw_form(Fuzz *f, Op form) { return op_mul(op_source(f->g, form), op_fill(f->g, 0)); }

static Node *draw_random(Fuzz *f) {
    const char *error;
    return node_new(f->g, OP_random, 0, NULL,
                    (Attr){ .first = below(f, 9), .count = fuzz_length(f) }, &error);
}

static Node *draw_gather(Fuzz *f) {
    Node *rows = fuzz_list(f);
    return op_gather(fuzz_vector(f), rows);
}

static Node *draw_linear_each(Fuzz *f) {
    int64_t parts = 1 + below(f, 3), rows = 1 + below(f, 6), steps = 1 + below(f, 5);
    Attr attr = { .first = below(f, (int)rows), .back = below(f, 2) };
    attr.count = 1 + below(f, (int)(rows - attr.first));
    Node *in[] = { fuzz_heads(f, parts, attr.back ? attr.count : steps),
                   fuzz_param(f, (Shape){ .rank = 3, .dim = { parts, rows, steps } }) };
    const char *error;
    return node_new(f->g, OP_linear_each, 2, in, attr, &error);
}

static Node *draw_scatter(Fuzz *f) {
    Node *rows = fuzz_list(f);
    return op_scatter(op_tanh(op_gather(fuzz_vector(f), rows)), rows);
}

/* Queries, or keys and values, or both of some tokens. */
static void take_some(Fuzz *f, Node **in) {
    Node *rows = fuzz_list(f);
    int which = below(f, 3);
    if (which != 1) in[0] = op_gather(in[0], rows);
    if (which != 0) in[1] = op_gather(in[1], rows), in[2] = op_gather(in[2], rows);
}

/* What may shape scores; how many operands there are then. */
static int draw_shaping(Fuzz *f, int64_t H, int64_t d, Node **in, Attr *attr) {
    if (!below(f, 3)) attr->softcap = draw_uniform(&f->random, 0.3, 2);
    if (!below(f, 3)) attr->values = 1 + below(f, (int)d), in[2] = in[1];
    if (!attr->causal) return 3;
    if (!below(f, 2)) attr->window = 1 + below(f, 6);
    if (below(f, 3)) return 3;
    int64_t distances = 1 + below(f, 6);
    in[3] = below(f, 2) ? fuzz_param(f, matrix(H, distances)) : fuzz_heads(f, H, distances);
    return 4;
}

static Node *draw_attention(Fuzz *f) {
    int64_t G = 1 + below(f, 2), H = G * (1 + below(f, 3)), d = 1 + below(f, 4);
    Node *in[4];
    const char *error;
    in[0] = fuzz_heads(f, H, d);
    in[1] = fuzz_heads(f, G, d);
    in[2] = fuzz_heads(f, G, 1 + below(f, 4));
    Attr attr = { .causal = below(f, 2), .count = below(f, 3) ? 0 : 1 + below(f, 5) };
    attr.value = draw_uniform(&f->random, 0.3, 1);
    bool some = !attr.count && below(f, 2);
    int operands = some || attr.count ? 3 : draw_shaping(f, H, d, in, &attr);
    if (some) take_some(f, in);
    Node *o = node_new(f->g, OP_attention, operands, in, attr, &error);
    return below(f, 3) ? o : op_sigmoid(op_side(o, 1));
}

/* Gradients have no gradient of their own here. */
static Node *draw_attention_grad(Fuzz *f) {
    Node *o = draw_attention(f);
    while (o->op != OP_attention)
        o = o->in[0];
    const char *error;
    Node *delta = op_sum(op_mul(o, op_tanh(o)), 1);
    Node *in[] = {
        o->in[0], o->in[1], o->in[2], delta, op_side(o, 1), op_tanh(o), o->nin > 3 ? o->in[3] : NULL
    };
    Node *dq = node_new(f->g, OP_attention_grad, o->nin + 3, in, *o->attr, &error);
    return op_stop_gradient(op_side(dq, below(f, node_results(dq))));
}

static Node *draw_cross_entropy(Fuzz *f, int result) {
    Node *in[2] = { fuzz_vector_of(f, FUZZ_VOCAB) };
    in[1] = op_source(f->g, OP_targets);
    const char *error;
    return op_side(node_new(f->g, OP_cross_entropy, 2, in, (Attr){ 0 }, &error), result);
}

static Node *draw_cross_entropy_grad(Fuzz *f) {
    Node *nll = draw_cross_entropy(f, 0);
    const char *error;
    Node *in[] = { nll->in[0], op_side(nll, 1), nll->in[1], op_tanh(nll) };
    return op_stop_gradient(node_new(f->g, OP_cross_entropy_grad, 4, in, (Attr){ 0 }, &error));
}

static Node *draw_wave(Fuzz *f) {
    double frequency[8];
    const char *error;
    Node *position = op_source(f->g, OP_position);
    if (below(f, 2)) position = op_gather(position, fuzz_list(f));
    Attr attr = { .value = 0.75, .count = fuzz_length(f), .frequency = frequency };
    attr.sine = below(f, 2);
    for (int i = 0; i < 8; i++)
        frequency[i] = pow(0.3, i);
    return node_new(f->g, OP_wave, 1, &position, attr, &error);
}

static Node *draw_token_sum(Fuzz *f) {
    Node *sum = op_token_sum(fuzz_vector(f));
    return op_mul(sum, op_source(f->g, OP_per_token));
}

static Node *draw_linear_weight(Fuzz *f) {
    Node *dy = fuzz_vector(f), *x = fuzz_vector_of(f, fuzz_length(f));
    Node *sum = op_linear_weight(dy, x);
    return op_mul(sum, op_source(f->g, OP_per_token));
}

static Node *draw_embed(Fuzz *f) {
    Node *w = fuzz_param(f, matrix(FUZZ_VOCAB, fuzz_length(f)));
    return op_embed(w, ids(f));
}

static Node *draw_embed_weight(Fuzz *f) {
    Node *in[2] = { fuzz_vector(f) };
    const char *error;
    in[1] = ids(f);
    return node_new(f->g, OP_embed_weight, 2, in, (Attr){ .count = FUZZ_VOCAB }, &error);
}

static Node *draw_axis(Fuzz *f, Op op) {
    Node *x = with_axis(f);
    int axis = below(f, x->shape.rank);
    if (op == OP_sum) return op_sum(x, axis);
    if (op == OP_softmax) return op_softmax(x, axis);
    return op_scale(op_peak(x, axis), 0.9); /* else max(x, peak(x)) is a tie by design */
}

/* Of a matrix above 0, or of several. */
static Node *draw_sinkhorn(Fuzz *f, Op op) {
    Node *x = draw_reshape(f);
    Shape s = { .rank = 2, .dim = { x->shape.dim[0], x->shape.dim[2] } };
    const char *error;
    if (below(f, 4)) x = op_reshape(x, &s);
    Attr attr = { .count = 1 + below(f, 5) };
    Node *in[] = { op_exp(op_tanh(x)), x };
    Node *y = node_new(f->g, op, op_info[op].arity, in, attr, &error);
    return op == OP_sinkhorn ? y : op_stop_gradient(y);
}

static Node *draw_view(Fuzz *f, Op op) {
    switch (op) {
    case OP_reshape: return draw_reshape(f);
    case OP_transpose: return draw_transpose(f);
    case OP_slice: return draw_slice(f);
    case OP_concat: return draw_concat(f);
    case OP_stack: return draw_stack(f);
    case OP_after: return draw_after(f);
    default: bug(NULL, "the fuzzer has no draw for '%s'", op_info[op].name);
    }
}

static Node *structural(Fuzz *f, Op op) {
    if (op_info[op].class == VIEW) return draw_view(f, op);
    if (op_info[op].class == REDUCE || op_info[op].class == SOFTMAX) return draw_axis(f, op);
    if (op_info[op].class == HISTORY || op == OP_conv_weight) return fuzz_history(f, op);
    switch (op) {
    case OP_param: return fuzz_param(f, random_shape(f));
    case OP_fill: return op_fill(f->g, (float)draw_uniform(&f->random, -1, 1));
    case OP_seed:
    case OP_per_token:
    case OP_tokens:
    case OP_targets:
    case OP_position:
    case OP_generating:
    case OP_sampling: return op_source(f->g, op);
    case OP_training:
    case OP_decoding: return draw_form(f, op);
    case OP_random: return draw_random(f);
    case OP_wave: return draw_wave(f);
    case OP_sinkhorn:
    case OP_sinkhorn_grad: return draw_sinkhorn(f, op);
    case OP_token_sum: return draw_token_sum(f);
    case OP_linear:
    case OP_linear_back: return draw_product(f, op);
    case OP_linear_weight: return draw_linear_weight(f);
    case OP_linear_each: return draw_linear_each(f);
    case OP_embed: return draw_embed(f);
    case OP_embed_weight: return draw_embed_weight(f);
    case OP_rows: return fuzz_list(f);
    case OP_top: return draw_top(f);
    case OP_gather: return draw_gather(f);
    case OP_scatter: return draw_scatter(f);
    case OP_attention: return draw_attention(f);
    case OP_attention_grad: return draw_attention_grad(f);
    case OP_cross_entropy:
    case OP_side: return draw_cross_entropy(f, op == OP_side);
    case OP_cross_entropy_grad: return draw_cross_entropy_grad(f);
    default: return fuzz_choice(f, op);
    }
}

Node *fuzz_draw(Fuzz *f, Op op) {
    return op_info[op].class == POINTWISE ? pointwise(f, op) : structural(f, op);
}
