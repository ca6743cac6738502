/* SPDX-License-Identifier: MIT
** A recurrence over time, and its gradient.  Per head and sequence a state S [dk,dv] starts at 0; a
** token of q, k [dk], v [dv] does
**
**   S <- e^g S        by rows, g one number for each, or one for the head; absent: 0; with rates
**                     [H,dk], the same for all tokens: one for the head, times the row's rate
**   u = v             or, with 'delta', u = beta (v - S^T k)
**   S <- S + k u^T    o = S^T q
**
** H heads of v, g, beta and o share G heads of q and k, H / G each.  Rows of a list are its
** sequence's tokens, one after another: the others leave the state as it is.
*/
#include "fatal.h"
#include "op.h"
#include "recurrence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

RecurrenceShape recurrence_shape(const Node *n) {
    const Shape *q = &n->in[0]->shape, *v = &n->in[2]->shape;
    bool back = n->op == OP_recurrence_grad;
    int more = n->nin - back - n->attr->delta - 3; /* decay, rate */
    return (RecurrenceShape){ .heads = v->dim[0],
                              .groups = q->dim[0],
                              .dk = q->dim[1],
                              .dv = v->dim[1],
                              .decay = more > 0 ? 3 : 0,
                              .rate = more > 1 ? 4 : 0,
                              .beta = n->attr->delta ? 3 + more : 0,
                              .by_head = more == 1 && n->in[3]->shape.rank == 1 };
}

/* Products with the state, then those of a chunk's tokens among themselves. */
double recurrence_flops(const Node *n) {
    RecurrenceShape r = recurrence_shape(n);
    double delta = n->attr->delta, state = (double)(r.dk * r.dv),
           half = r.dk * r.dv <= RECURRENCE_SMALL ? 0 : RECURRENCE_CHUNK / 2.0,
           keys = half * (double)r.dk, values = half * (double)r.dv;
    double forward = (2 + delta) * state + (1 + delta) * (keys + values);
    double again = (1 + delta) * state + delta * values;
    double back = (4 + 2 * delta) * state + (3 + 3 * delta) * keys + (2 + 2 * delta) * values;
    if (r.rate) { /* the product, and sums of what flows into its factors */
        double product = 0.5 * (double)r.dk;
        forward += product, again += product, back += 4 * product;
    }
    return 2 * (double)r.heads * (n->op == OP_recurrence ? forward : again + back);
}

static const char *check_operands(Node *n, int more) {
    int least = 3 + n->attr->delta + more;
    if (n->nin < least || n->nin > least + 2)
        return graph_format(n->g, "takes %d to %d operands, found %d", least, least + 2, n->nin);
    const char *error = operand_is(n, 0, "q", "[tokens,heads,dk]", LEAD_TOKENS, F32, 2);
    if (!error) error = operand_is(n, 1, "k", "[tokens,heads,dk]", LEAD_TOKENS, F32, 2);
    if (!error) error = operand_is(n, 2, "v", "[tokens,heads,dv]", LEAD_TOKENS, F32, 2);
    return error;
}

static const char *check_pairs(Node *n) {
    const Shape *q = &n->in[0]->shape, *k = &n->in[1]->shape, *v = &n->in[2]->shape;
    if (q->dim[0] != k->dim[0] || q->dim[1] != k->dim[1])
        return graph_format(n->g, "shapes of q and k differ: %s and %s", shape_text(n->g, q),
                            shape_text(n->g, k));
    if (v->dim[0] % q->dim[0])
        return graph_format(n->g, "%lld heads of v cannot share %lld heads of q and k evenly",
                            (long long)v->dim[0], (long long)q->dim[0]);
    return NULL;
}

/* "NAME must be ..." unless operand i, a number of the head or of its channels, fits v. */
static const char *check_factor(Node *n, int i, const char *name, int64_t channels) {
    const Shape *x = &n->in[i]->shape;
    int64_t heads = n->in[2]->shape.dim[0];
    bool one = x->rank == 1, each = channels && x->rank == 2 && x->dim[1] == channels;
    if (x->lead == LEAD_TOKENS && x->type == F32 && (one || each) && x->dim[0] == heads)
        return NULL;
    if (!channels)
        return graph_format(n->g, "%s must be [tokens,%lld], not %s", name, (long long)heads,
                            shape_text(n->g, x));
    return graph_format(n->g, "%s must be [tokens,%lld] or [tokens,%lld,%lld], not %s", name,
                        (long long)heads, (long long)heads, (long long)channels,
                        shape_text(n->g, x));
}

/* Unless rates are of all channels, and the decay of heads. */
static const char *check_rate(Node *n, const RecurrenceShape *r) {
    const Shape *x = &n->in[r->rate]->shape;
    if (x->lead == LEAD_NONE && x->type == F32 && x->rank == 2 && x->dim[0] == r->heads
        && x->dim[1] == r->dk)
        return check_factor(n, r->decay, "decay", 0);
    return graph_format(n->g, "rate must be [%lld,%lld], not %s", (long long)r->heads,
                        (long long)r->dk, shape_text(n->g, x));
}

static const char *check_all(Node *n, int more) {
    const char *error = check_operands(n, more);
    if (!error) error = check_pairs(n);
    if (error) return error;
    RecurrenceShape r = recurrence_shape(n);
    if (r.rate) error = check_rate(n, &r);
    else if (r.decay) error = check_factor(n, r.decay, "decay", r.dk);
    if (!error && r.beta) error = check_factor(n, r.beta, "delta", 0);
    return error;
}

const char *shape_recurrence(Node *n) {
    const char *error = check_all(n, 0);
    if (!error) n->shape = n->in[2]->shape;
    return error;
}

void vjp_recurrence(Node *n, Node **dy, Node **dx) {
    Node *in[7];
    memcpy(in, n->in, (size_t)n->nin * sizeof *in);
    in[n->nin] = dy[0];
    dx[0] = op_build(n->g, OP_recurrence_grad, n->nin + 1, in, *n->attr);
    RecurrenceShape r = recurrence_shape(n);
    dx[1] = op_side(dx[0], 1);
    dx[2] = op_side(dx[0], 2);
    if (r.decay) dx[r.decay] = op_side(dx[0], 3);
    if (r.beta) dx[r.beta] = op_side(dx[0], 4);
    if (r.rate) dx[r.rate] = op_sum(op_side(dx[0], RECURRENCE_RATE), 0);
}

/* == One token of one head ================================================ */

/* What it reads, by EvalStep's operands. */
typedef struct Token {
    const double *q, *k, *v, *g, *rate, *beta, *d_o;
} Token;

/* A head of a sequence: first row, how many, where they are. */
typedef struct HeadRun {
    RecurrenceShape r;
    int64_t head, row, count;
} HeadRun;

static double *recurrence_numbers(int64_t count) {
    return checked_new((size_t)count, sizeof(double));
}

/* Numbers of a head's decay, of each token. */
static int64_t decays_of(const RecurrenceShape *r) { return r->by_head || r->rate ? 1 : r->dk; }

static Token token_at(const EvalStep *s, const HeadRun *x, int64_t t) {
    const RecurrenceShape *r = &x->r;
    int64_t row = x->row + t, at = row * r->heads + x->head,
            group = row * r->groups + x->head / (r->heads / r->groups);
    return (Token){ .q = s->in[0] + group * r->dk,
                    .k = s->in[1] + group * r->dk,
                    .v = s->in[2] + at * r->dv,
                    .g = r->decay ? s->in[r->decay] + at * decays_of(r) : NULL,
                    .rate = r->rate ? s->in[r->rate] + x->head * r->dk : NULL,
                    .beta = r->beta ? s->in[r->beta] + at : NULL,
                    .d_o = s->n->op == OP_recurrence_grad ? s->in[s->n->nin - 1] + at * r->dv
                                                          : NULL };
}

static double decay_of(const RecurrenceShape *r, const Token *t, int64_t c) {
    if (t->rate) return exp(*t->g * t->rate[c]);
    return t->g ? exp(t->g[r->by_head ? 0 : c]) : 1;
}

/* P = e^g S, which may be the same; error[dv] = v - P^T k, or v. */
static void open_token(const RecurrenceShape *r, const Token *t, const double *S, double *P,
                       double *error) {
    memcpy(error, t->v, (size_t)r->dv * sizeof *error);
    for (int64_t c = 0; c < r->dk; c++) {
        double decay = decay_of(r, t, c);
        for (int64_t i = 0; i < r->dv; i++) {
            P[c * r->dv + i] = decay * S[c * r->dv + i];
            if (t->beta) error[i] -= P[c * r->dv + i] * t->k[c];
        }
    }
}

/* S = P + k u^T, which may be the same. */
static void close_token(const RecurrenceShape *r, const Token *t, const double *P,
                        const double *error, double *S) {
    double beta = t->beta ? *t->beta : 1;
    for (int64_t c = 0; c < r->dk; c++)
        for (int64_t i = 0; i < r->dv; i++)
            S[c * r->dv + i] = P[c * r->dv + i] + t->k[c] * beta * error[i];
}

typedef void HeadRunFn(const EvalStep *s, const HeadRun *x);

static int64_t sequence_of(const EvalStep *s, int64_t row) {
    const TokenList *l = &s->list[s->n->in[0]->shape.list];
    return (l->token ? l->token[row] : row) / s->input->time;
}

static void each_run(const EvalStep *s, HeadRunFn *fn) {
    HeadRun x = { .r = recurrence_shape(s->n) };
    for (int64_t end = 0; x.row < s->tokens; x.row = end) {
        while (end < s->tokens && sequence_of(s, end) == sequence_of(s, x.row))
            end++;
        x.count = end - x.row;
        for (x.head = 0; x.head < x.r.heads; x.head++)
            fn(s, &x);
    }
}

/* == recurrence =========================================================== */

static void forward(const EvalStep *s, const HeadRun *x) {
    const RecurrenceShape *r = &x->r;
    double *S = recurrence_numbers(r->dk * r->dv), *error = recurrence_numbers(r->dv);
    for (int64_t t = 0; t < x->count; t++) {
        Token now = token_at(s, x, t);
        double *o = s->out[0] + ((x->row + t) * r->heads + x->head) * r->dv;
        open_token(r, &now, S, S, error);
        close_token(r, &now, S, error, S);
        for (int64_t c = 0; c < r->dk; c++)
            for (int64_t i = 0; i < r->dv; i++)
                o[i] += S[c * r->dv + i] * now.q[c];
    }
    free(S), free(error);
}

void eval_recurrence(const EvalStep *s) { each_run(s, forward); }

/* == recurrence_grad: the operands of recurrence, and do ================== */

/* Results of the absent are no values; one is the kernel's room for states: a row of a chunk has
** its share of the state after it. */
const char *shape_recurrence_grad(Node *n) {
    const char *error = check_all(n, 1);
    if (error) return error;
    RecurrenceShape r = recurrence_shape(n);
    if (!shape_equal(&n->in[2]->shape, &n->in[n->nin - 1]->shape))
        return graph_format(n->g, "operand %d must be %s, not %s", n->nin - 1,
                            shape_text(n->g, &n->in[2]->shape),
                            shape_text(n->g, &n->in[n->nin - 1]->shape));
    n->shape = n->in[0]->shape;
    n->side[1] = n->in[1]->shape;
    n->side[2] = n->in[2]->shape;
    n->side[3] = n->side[4] = (Shape){ 0 };
    if (r.decay) n->side[3] = n->in[r.decay]->shape;
    if (r.beta) n->side[4] = n->in[r.beta]->shape;
    n->side[RECURRENCE_RATE] = (Shape){ 0 };
    if (r.rate)
        n->side[RECURRENCE_RATE] =
            (Shape){ .type = F32, .rank = 3, .dim = { RECURRENCE_SUMS, r.heads, r.dk } };
    n->side[RECURRENCE_ROOM] = n->shape;
    n->side[RECURRENCE_ROOM].dim[0] = r.heads;
    n->side[RECURRENCE_ROOM].dim[1] = (r.dk * r.dv + RECURRENCE_CHUNK - 1) / RECURRENCE_CHUNK;
    return NULL;
}

void vjp_recurrence_grad(Node *n, Node **dy, Node **dx) {
    (void)dy, (void)dx;
    bug(n, "there is no gradient of a gradient of a recurrence");
}

/* Where a token's gradients go. */
typedef struct TokenGrad {
    double *q, *k, *v, *g, *rate, *beta;
} TokenGrad;

static TokenGrad gradient_at(const EvalStep *s, const HeadRun *x, int64_t t) {
    const RecurrenceShape *r = &x->r;
    int64_t row = x->row + t, at = row * r->heads + x->head,
            group = row * r->groups + x->head / (r->heads / r->groups);
    int64_t sum = sequence_of(s, row) % RECURRENCE_SUMS;
    return (TokenGrad){ s->out[0] + group * r->dk,
                        s->out[1] + group * r->dk,
                        s->out[2] + at * r->dv,
                        r->decay ? s->out[3] + at * decays_of(r) : NULL,
                        r->rate ? s->out[RECURRENCE_RATE] + (sum * r->heads + x->head) * r->dk
                                : NULL,
                        r->beta ? s->out[4] + at : NULL };
}

/* dS gains what the output gives; S is the state after the token. */
static void output_back(const RecurrenceShape *r, const Token *t, const double *S, double *dS,
                        TokenGrad d) {
    for (int64_t c = 0; c < r->dk; c++)
        for (int64_t i = 0; i < r->dv; i++) {
            d.q[c] += S[c * r->dv + i] * t->d_o[i];
            dS[c * r->dv + i] += t->q[c] * t->d_o[i];
        }
}

/* dS of the state after the token becomes that of P. */
static void update_back(const RecurrenceShape *r, const Token *t, const double *P,
                        const double *error, double *dS, TokenGrad d) {
    double beta = t->beta ? *t->beta : 1;
    for (int64_t i = 0; i < r->dv; i++) {
        double du = 0;
        for (int64_t c = 0; c < r->dk; c++) {
            du += dS[c * r->dv + i] * t->k[c];
            d.k[c] += dS[c * r->dv + i] * beta * error[i];
        }
        d.v[i] += beta * du;
        if (!t->beta) continue;
        *d.beta += du * error[i];
        for (int64_t c = 0; c < r->dk; c++) {
            d.k[c] -= P[c * r->dv + i] * beta * du;
            dS[c * r->dv + i] -= t->k[c] * beta * du;
        }
    }
}

/* dS of P becomes that of the state before. */
static void decay_back(const RecurrenceShape *r, const Token *t, const double *P, double *dS,
                       TokenGrad d) {
    for (int64_t c = 0; t->g && c < r->dk; c++)
        for (int64_t i = 0; i < r->dv; i++) {
            double dg = dS[c * r->dv + i] * P[c * r->dv + i];
            d.g[decays_of(r) == 1 ? 0 : c] += t->rate ? dg * t->rate[c] : dg;
            if (t->rate) d.rate[c] += dg * *t->g;
            dS[c * r->dv + i] *= decay_of(r, t, c);
        }
}

static void backward(const EvalStep *s, const HeadRun *x) {
    const RecurrenceShape *r = &x->r;
    int64_t size = r->dk * r->dv;
    double *S = recurrence_numbers((x->count + 1) * size), *dS = recurrence_numbers(size),
           *P = recurrence_numbers(size), *error = recurrence_numbers(r->dv);
    for (int64_t t = 0; t < x->count; t++) {
        Token now = token_at(s, x, t);
        open_token(r, &now, S + t * size, P, error);
        close_token(r, &now, P, error, S + (t + 1) * size);
    }
    for (int64_t t = x->count; t-- > 0;) {
        Token now = token_at(s, x, t);
        TokenGrad d = gradient_at(s, x, t);
        open_token(r, &now, S + t * size, P, error);
        output_back(r, &now, S + (t + 1) * size, dS, d);
        update_back(r, &now, P, error, dS, d);
        decay_back(r, &now, P, dS, d);
    }
    free(S), free(dS), free(P), free(error);
}

void eval_recurrence_grad(const EvalStep *s) { each_run(s, backward); }
