/*
** Attention over time, and its gradient.  H query heads share G key heads,
** H / G each.  Each sequence of the batch is on its own; with 'causal' token
** t sees tokens 0 ... t of its sequence.
**
**   s = scale q k^T    p = softmax(s)    o = p v    lse = log sum exp s
**   dv = p^T do    ds = p (do v^T - sum(do o))    dq = scale ds k    dk = scale ds^T q
*/
#include "op.h"

#include <math.h>
#include <stdlib.h>

typedef struct Heads { int64_t H, G, d, e; } Heads;    /* d: of q and k, e: of v */

static Heads heads_of(const Node *n) {
    const Shape *q = &n->in[0]->shape, *v = &n->in[2]->shape;
    return (Heads){ q->dim[0], v->dim[0], q->dim[1], v->dim[1] };
}

static const char *check_heads(Node *n) {
    const char *error = operand_is(n, 0, "q", "[tokens,heads,d]", LEAD_TOKENS, F32, 2);
    if (!error) error = operand_is(n, 1, "k", "[tokens,heads,d]", LEAD_TOKENS, F32, 2);
    if (!error) error = operand_is(n, 2, "v", "[tokens,heads,e]", LEAD_TOKENS, F32, 2);
    if (error) return error;
    const Shape *q = &n->in[0]->shape, *k = &n->in[1]->shape, *v = &n->in[2]->shape;
    if (q->dim[1] != k->dim[1])
        return graph_format(n->g, "head dimensions of q and k differ: %lld and %lld",
                            (long long)q->dim[1], (long long)k->dim[1]);
    if (k->dim[0] != v->dim[0])
        return graph_format(n->g, "k has %lld heads and v %lld", (long long)k->dim[0],
                            (long long)v->dim[0]);
    if (q->dim[0] % k->dim[0])
        return graph_format(n->g, "%lld query heads cannot share %lld key heads evenly",
                            (long long)q->dim[0], (long long)k->dim[0]);
    return NULL;
}

/* {== attention ========================================================== */

const char *shape_attention(Node *n) {
    const char *error = check_heads(n);
    if (error) return error;
    Heads h = heads_of(n);
    n->shape = (Shape){ .lead = LEAD_TOKENS, .rank = 2, .dim = { h.H, h.e } };
    n->side[1] = (Shape){ .lead = LEAD_TOKENS, .rank = 1, .dim = { h.H } };
    return NULL;
}

void vjp_attention(Node *n, Node **dy, Node **dx) {
    if (dy[1]) bug(n, "its log-sum-exp has no gradient");
    if (!dy[0]) return;
    Node *in[] = { n->in[0], n->in[1], n->in[2], n, op_side(n, 1), dy[0] };
    dx[0] = op_build(n->g, OP_attention_grad, 6, in, n->attr);
    dx[1] = op_side(dx[0], 1);
    dx[2] = op_side(dx[0], 2);
}

/* The dot product of two heads. */
static double score(const double *a, const double *b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Scores of one query against tokens first ... first+seen-1, into p. */
static void scores(const Step *s, Heads h, int64_t token, int64_t head, int64_t first,
                   int64_t seen, double *p) {
    int64_t g = head / (h.H / h.G);
    const double *q = s->in[0] + (token * h.H + head) * h.d;
    for (int64_t j = 0; j < seen; j++)
        p[j] = s->n->attr.value * score(q, s->in[1] + ((first + j) * h.G + g) * h.d, h.d);
}

static double softmax(double *p, int64_t count) {
    double most = -INFINITY, total = 0;
    for (int64_t j = 0; j < count; j++)
        most = fmax(most, p[j]);
    for (int64_t j = 0; j < count; j++)
        total += p[j] = exp(p[j] - most);
    for (int64_t j = 0; j < count; j++)
        p[j] /= total;
    return most + log(total);
}

static void attend(const Step *s, Heads h, int64_t token, int64_t head, int64_t first,
                   int64_t seen, double *p) {
    int64_t g = head / (h.H / h.G);
    double *out = s->out[0] + (token * h.H + head) * h.e;
    scores(s, h, token, head, first, seen, p);
    s->out[1][token * h.H + head] = softmax(p, seen);
    for (int64_t j = 0; j < seen; j++)
        for (int64_t i = 0; i < h.e; i++)
            out[i] += p[j] * s->in[2][((first + j) * h.G + g) * h.e + i];
}

typedef void AttendFn(const Step *s, Heads h, int64_t token, int64_t head, int64_t first,
                      int64_t seen, double *p);

static void each_query(const Step *s, AttendFn *fn) {
    int64_t time = s->input->time;
    double *p = malloc((size_t)(time ? time : 1) * sizeof *p);
    if (!p) limit_hit("reference: expected memory for %lld scores, found none", (long long)time);
    for (int64_t token = 0; token < s->tokens; token++) {
        int64_t t = token % time, first = token - t;
        for (int64_t head = 0; head < heads_of(s->n).H; head++)
            fn(s, heads_of(s->n), token, head, first, s->n->attr.causal ? t + 1 : time, p);
    }
    free(p);
}

void eval_attention(const Step *s) {
    each_query(s, attend);
}

/* }{== attention_grad: q k v o lse do ==================================== */

const char *shape_attention_grad(Node *n) {
    const char *error = check_heads(n);
    if (error) return error;
    Heads h = heads_of(n);
    Shape o = { .lead = LEAD_TOKENS, .rank = 2, .dim = { h.H, h.e } };
    Shape lse = { .lead = LEAD_TOKENS, .rank = 1, .dim = { h.H } };
    const Shape *want[] = { &o, &lse, &o };
    for (int i = 3; i < 6; i++)
        if (!shape_equal(want[i - 3], &n->in[i]->shape))
            return graph_format(n->g, "operand %d must be %s, not %s", i,
                                shape_text(n->g, want[i - 3]),
                                shape_text(n->g, &n->in[i]->shape));
    n->shape = n->in[0]->shape;
    n->side[1] = n->in[1]->shape;
    n->side[2] = n->in[2]->shape;
    return NULL;
}

void vjp_attention_grad(Node *n, Node **dy, Node **dx) {
    (void)dy, (void)dx;
    bug(n, "there is no gradient of a gradient of attention");
}

static void attend_back(const Step *s, Heads h, int64_t token, int64_t head, int64_t first,
                        int64_t seen, double *p) {
    int64_t g = head / (h.H / h.G), at = token * h.H + head;
    const double *q = s->in[0] + at * h.d, *o = s->in[3] + at * h.e, *d_o = s->in[5] + at * h.e;
    double delta = score(d_o, o, h.e), scale = s->n->attr.value;
    scores(s, h, token, head, first, seen, p);
    for (int64_t j = 0; j < seen; j++) {
        int64_t key = (first + j) * h.G + g;
        double pj = exp(p[j] - s->in[4][at]);
        double ds = scale * pj * (score(d_o, s->in[2] + key * h.e, h.e) - delta);
        for (int64_t i = 0; i < h.e; i++)
            s->out[2][key * h.e + i] += pj * d_o[i];
        for (int64_t i = 0; i < h.d; i++) {
            s->out[0][at * h.d + i] += ds * s->in[1][key * h.d + i];
            s->out[1][key * h.d + i] += ds * q[i];
        }
    }
}

void eval_attention_grad(const Step *s) {
    each_query(s, attend_back);
}

/* }======================================================================= */
