/* SPDX-License-Identifier: MIT
** Attention over time, and its gradient.  H query heads share G key heads,
** H / G each.  Each sequence of the batch is on its own; with 'causal' token
** t sees tokens 0 ... t of its sequence.
**
**   s = scale q k^T    p = softmax(s)    o = p v    lse = log sum exp s
**   dv = p^T do    ds = p (do v^T - delta)    dq = scale ds k    dk = scale ds^T q
**   delta = sum(do o) - dlse
**
** Keys and values may be averages over time.  With 'chunk' (causal) the j-th is
** that of tokens j chunk ... (j+1) chunk - 1, and token t sees those with
** (j+1) chunk <= t.  With 'pools' (not causal) there are 'pools' of them, whatever
** the length T: the j-th is that of tokens floor(j T / pools) ... ceil((j+1) T /
** pools) - 1.  A token that sees no key gets exactly 0, and NOTHING as its
** log-sum-exp: a number, so that merging attentions by theirs stays finite.
**
** Queries, and keys with their values, may be rows of a list each: a sequence's
** queries see its keys, if causal those of tokens that are not later than theirs.
**
** What may come on top, where keys are causal and rows of the queries' tokens:
**   window w      query i sees keys i - w + 1 ... i
**   by_distance   a table [H, n] per query, or one: s(i, j) += its [h, i - j] where i - j < n
** Always: with 'softcap' c scores are c tanh(s / c), before distances are added; with
** 'values' e the values are the first e channels of keys, which then are both operands; with
** 'bits' keys and values are rounded as caches keep them (ops_small.c), but averages are not.
*/
#include "fatal.h"
#include "sequence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING (-1e30)

/* == Averages over time =================================================== */

/* The keys and values of all sequences, 'count' of each if they are averages; in gradients their
** cotangents. */
typedef struct Memory {
    double *k, *v;
    int64_t count;
} Memory;

static double *sequence_numbers(int64_t count) {
    return checked_new((size_t)count, sizeof(double));
}

/* Tokens first ... end-1 are averaged to the j-th. */
static void pool_range(const EvalStep *s, int64_t j, int64_t *first, int64_t *end) {
    int64_t n = s->n->attr->count, time = s->input->time;
    *first = s->n->attr->causal ? j * n : j * time / n;
    *end = s->n->attr->causal ? (j + 1) * n : ((j + 1) * time + n - 1) / n;
}

static int64_t pool_count(const EvalStep *s) {
    int64_t n = s->n->attr->count, time = s->input->time;
    return !n ? time : s->n->attr->causal ? time / n : n;
}

/* Adds averages of x [tokens][width] to y [averages][width], or y's cotangents to x's. */
static void pool(const EvalStep *s, int64_t width, double *x, double *y, bool back) {
    int64_t count = pool_count(s), time = s->input->time, first, end;
    for (int64_t b = 0; b < s->input->batch; b++)
        for (int64_t j = 0; j < count; j++) {
            pool_range(s, j, &first, &end);
            double *to = y + (b * count + j) * width, share = 1 / (double)(end - first);
            for (int64_t t = first; t < end; t++)
                for (int64_t i = 0; i < width; i++) {
                    double *from = &x[(b * time + t) * width + i];
                    if (back) *from += to[i] * share;
                    else to[i] += *from * share;
                }
        }
}

static Memory memory_new(const EvalStep *s) {
    Heads h = heads_of(s->n);
    int64_t count = pool_count(s), all = s->input->batch * count * h.G;
    return (Memory){ sequence_numbers(all * h.d), sequence_numbers(all * h.e), count };
}

static void memory_pool(const EvalStep *s, Memory *m, double *k, double *v, bool back) {
    Heads h = heads_of(s->n);
    pool(s, h.G * h.d, k, m->k, back);
    pool(s, h.G * h.e, v, m->v, back);
}

static void memory_free(Memory *m) { free(m->k), free(m->v); }

static const TokenList *list_at(const EvalStep *s, int operand) {
    return &s->list[s->n->in[operand]->shape.list];
}

/* An operand's rows as caches keep them. */
static double *rounded(const EvalStep *s, int operand) {
    const Shape *x = &s->n->in[operand]->shape;
    int64_t rows = rows_of(s, x) * x->dim[0];
    double *own = sequence_numbers(rows * x->dim[1]);
    memcpy(own, s->in[operand], (size_t)(rows * x->dim[1]) * sizeof *own);
    small_round_kept(s->n->attr->bits, rows, x->dim[1], own);
    return own;
}

static bool has_own_memory(const EvalStep *s) { return s->n->attr->count || s->n->attr->bits; }

/* Keys and values as s->in has them, or their averages, or what caches keep of them. */
static Memory memory_open(const EvalStep *s) {
    if (!has_own_memory(s))
        return (Memory){ (double *)s->in[1], (double *)s->in[2], s->input->time };
    if (s->n->attr->bits) return (Memory){ rounded(s, 1), rounded(s, 2), s->input->time };
    Memory m = memory_new(s);
    memory_pool(s, &m, (double *)s->in[1], (double *)s->in[2], false);
    return m;
}

static int64_t token_of(const TokenList *l, int64_t row) { return l->token ? l->token[row] : row; }

/* How many rows of the list are of tokens before this one. */
static int64_t rows_before(const TokenList *l, int64_t token) {
    if (!l->token) return token;
    int64_t n = 0;
    while (n < l->count && l->token[n] < token)
        n++;
    return n;
}

/* The keys that a token's query sees. */
static void find_seen(const EvalStep *s, int64_t token, int64_t *first, int64_t *seen) {
    const Attr *a = s->n->attr;
    const TokenList *keys = list_at(s, 1);
    int64_t time = s->input->time, start = token - token % time, count = pool_count(s);
    if (a->count) {
        *first = token / time * count;
        *seen = a->causal ? token % time / a->count : count;
        return;
    }
    *first = rows_before(keys, start);
    *seen = rows_before(keys, a->causal ? token + 1 : start + time) - *first;
    if (a->window && *seen > a->window) *first += *seen - a->window, *seen = a->window;
}

/* == attention ============================================================ */

/* The cotangent of all channels that an operand has of which values are the first. */
static Node *whole_rows(const Node *n, Node *dv) {
    Shape rest = n->in[2]->shape;
    rest.dim[1] -= dv->shape.dim[1];
    if (!rest.dim[1]) return dv;
    return op_concat(n->g, 2, (Node *[]){ dv, op_full(n->g, &rest, 0) }, 1);
}

/* From what attention_grad gives; of one table, a row of each position for the distance from 0. */
static Node *table_gradient(const Node *n, Node *d) {
    Heads h = heads_of(n);
    if (!h.one_table) return d;
    Node *in[] = { d, op_source(n->g, OP_position) };
    Node *rows = op_build(n->g, OP_embed_weight, 2, in, (Attr){ .count = h.distances });
    return op_transpose(rows, (int[]){ 1, 0 });
}

void vjp_attention(Node *n, Node **dy, Node **dx) {
    Node *d_o = dy[0] ? dy[0] : op_full(n->g, &n->shape, 0);
    Node *delta = dy[0] ? op_sum(op_mul(d_o, n), 1) : NULL;
    if (dy[1]) delta = delta ? op_sub(delta, dy[1]) : op_neg(dy[1]);
    Node *in[] = { n->in[0], n->in[1], n->in[2], delta, op_side(n, 1), d_o, NULL };
    if (n->nin > OPERANDS) in[GRAD_OPERANDS] = n->in[OPERANDS];
    dx[0] = op_build(n->g, OP_attention_grad, n->nin - OPERANDS + GRAD_OPERANDS, in, *n->attr);
    dx[1] = op_side(dx[0], 1);
    dx[2] = whole_rows(n, op_side(dx[0], 2));
    if (n->nin > OPERANDS) dx[OPERANDS] = table_gradient(n, op_side(dx[0], 3));
}

/* With --precision bf16 both sides of each product are rounded. */
static double factor(const EvalStep *s, double x) { return s->n->g->bf16 ? round_bf16(x) : x; }

/* The dot product of two heads. */
static double score(const EvalStep *s, const double *a, const double *b, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += factor(s, a[i]) * factor(s, b[i]);
    return sum;
}

/* One query: a head of a row, and the keys from 'first' on that it sees. */
typedef struct Query {
    int64_t row, head, first, seen;
} Query;

/* What stands for the j-th key that a query sees in a table by distances; -1: nothing does. */
static int64_t distance_at(Heads h, Query x, int64_t j) {
    int64_t distance = x.seen - 1 - j, row = h.one_table ? 0 : x.row;
    return distance < h.distances ? (row * h.H + x.head) * h.distances + distance : -1;
}

/* The same in the table's gradient.  One table has a row [H] for each distance: that of the
** sequence's token which is so far from its first one. */
static int64_t gradient_at(const EvalStep *s, Heads h, Query x, int64_t j) {
    int64_t at = distance_at(h, x, j), time = s->input->time;
    if (!h.one_table || at < 0) return at;
    return (x.row / time * time + x.seen - 1 - j) * h.H + x.head;
}

/* Scores of a query, into p; 'slope', or NULL: what a cap leaves of their cotangents. */
static void scores(const EvalStep *s, Heads h, const Memory *m, Query x, double *p, double *slope) {
    int64_t g = x.head / (h.H / h.G);
    const double *q = s->in[0] + (x.row * h.H + x.head) * h.d;
    const double *table = h.distances ? s->in[operands_of(s->n)] : NULL;
    double cap = s->n->attr->softcap;
    for (int64_t j = 0; j < x.seen; j++) {
        p[j] = s->n->attr->value * score(s, q, m->k + ((x.first + j) * h.G + g) * h.d, h.d);
        double part = cap > 0 ? tanh(p[j] / cap) : 0;
        if (cap > 0) p[j] = cap * part;
        if (slope) slope[j] = 1 - part * part;
        if (table && distance_at(h, x, j) >= 0) p[j] += table[distance_at(h, x, j)];
    }
}

/* Scores become e^(score - the largest), *total their sum; the log of the sum of e^score. */
static double softmax(double *p, int64_t count, double *total) {
    double most = -INFINITY;
    *total = 0;
    if (!count) return NOTHING;
    for (int64_t j = 0; j < count; j++)
        most = fmax(most, p[j]);
    for (int64_t j = 0; j < count; j++)
        *total += p[j] = exp(p[j] - most);
    return most + log(*total);
}

static void attend(const EvalStep *s, Heads h, const Memory *m, Memory *dm, Query x, double *p) {
    int64_t g = x.head / (h.H / h.G);
    double *out = s->out[0] + (x.row * h.H + x.head) * h.e, total;
    (void)dm;
    scores(s, h, m, x, p, NULL);
    s->out[1][x.row * h.H + x.head] = softmax(p, x.seen, &total);
    for (int64_t j = 0; j < x.seen; j++)
        for (int64_t i = 0; i < h.e; i++)
            out[i] += factor(s, p[j]) * factor(s, m->v[((x.first + j) * h.G + g) * h.row + i])
                / total;
}

typedef void AttendFn(const EvalStep *s, Heads h, const Memory *m, Memory *dm, Query x, double *p);

static void each_query(const EvalStep *s, AttendFn *fn, Memory *dm) {
    Memory m = memory_open(s);
    double *p = sequence_numbers(2 * m.count);
    for (int64_t row = 0; row < s->tokens; row++) {
        int64_t first, seen;
        find_seen(s, token_of(list_at(s, 0), row), &first, &seen);
        for (int64_t head = 0; head < heads_of(s->n).H; head++)
            fn(s, heads_of(s->n), &m, dm, (Query){ row, head, first, seen }, p);
    }
    free(p);
    if (has_own_memory(s)) memory_free(&m);
}

/* Result 0 is stored as bfloat16. */
static void round_result(const EvalStep *s) {
    int64_t count = s->tokens * shape_count(&s->n->shape);
    for (int64_t i = 0; s->n->attr->bf16 && i < count; i++)
        s->out[0][i] = round_bf16(s->out[0][i]);
}

void eval_attention(const EvalStep *s) {
    each_query(s, attend, NULL);
    round_result(s);
}

/* == attention_grad: q k v delta lse do, by_distance ====================== */

void vjp_attention_grad(Node *n, Node **dy, Node **dx) {
    (void)dy, (void)dx;
    bug(n, "there is no gradient of a gradient of attention");
}

static void attend_back(const EvalStep *s, Heads h, const Memory *m, Memory *dm, Query x,
                        double *p) {
    int64_t g = x.head / (h.H / h.G), at = x.row * h.H + x.head;
    const double *q = s->in[0] + at * h.d, *d_o = s->in[5] + at * h.e;
    double delta = s->in[3][at], scale = s->n->attr->value, *slope = p + x.seen;
    scores(s, h, m, x, p, slope);
    for (int64_t j = 0; j < x.seen; j++) {
        int64_t key = (x.first + j) * h.G + g;
        double pj = exp(p[j] - s->in[4][at]);
        double dp = pj * (score(s, d_o, m->v + key * h.row, h.e) - delta);
        double ds = factor(s, dp * slope[j]) * scale;
        int64_t at_distance = h.distances ? gradient_at(s, h, x, j) : -1;
        if (at_distance >= 0) s->out[3][at_distance] += dp;
        for (int64_t i = 0; i < h.e; i++)
            dm->v[key * h.e + i] += factor(s, pj) * factor(s, d_o[i]);
        for (int64_t i = 0; i < h.d; i++) {
            s->out[0][at * h.d + i] += ds * factor(s, m->k[key * h.d + i]);
            dm->k[key * h.d + i] += ds * factor(s, q[i]);
        }
    }
}

void eval_attention_grad(const EvalStep *s) {
    Memory dm = { s->out[1], s->out[2], s->input->time };
    if (s->n->attr->count) dm = memory_new(s);
    each_query(s, attend_back, &dm);
    round_result(s);
    if (!s->n->attr->count) return;
    memory_pool(s, &dm, s->out[1], s->out[2], true);
    memory_free(&dm);
}
