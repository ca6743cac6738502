/* SPDX-License-Identifier: MIT
** Values that come from outside the graph, waves of positions, and picking
** one of several results.  None has a gradient of its own.
*/
#include "op.h"
#include "philox.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define NO_GRADIENT(name) \
    void vjp_##name(Node *n, Node **dy, Node **dx) { (void)n, (void)dy, (void)dx; }

NO_GRADIENT(param)
NO_GRADIENT(statistic)
NO_GRADIENT(fill)
NO_GRADIENT(seed)
NO_GRADIENT(per_token)
NO_GRADIENT(generating)
NO_GRADIENT(training)
NO_GRADIENT(decoding)
NO_GRADIENT(sampling)
NO_GRADIENT(random)
NO_GRADIENT(tokens)
NO_GRADIENT(targets)
NO_GRADIENT(position)
NO_GRADIENT(wave)

static const Shape ops_source_number = { 0 };
static const Shape ids = { .lead = LEAD_TOKENS, .type = I32 };

static const char *is(Node *n, Shape s) {
    n->shape = s;
    return NULL;
}

/* == Parameters and constants ============================================= */

const char *shape_param(Node *n) {
    n->shape = n->attr->shape;
    if (!n->attr->name || !*n->attr->name) return "a parameter needs a name";
    if (n->shape.lead != LEAD_NONE || n->shape.type != F32)
        return "a parameter has numbers and no token axis";
    return NULL;
}

void eval_param(const EvalStep *s) {
    const double *value = s->input->param(s->input->user, s->n);
    if (!value) bug(s->n, "parameter '%s' has no value", s->n->attr->name);
    memcpy(s->out[0], value, (size_t)shape_count(&s->n->shape) * sizeof *value);
}

const char *shape_statistic(Node *n) { return shape_param(n); }

void eval_statistic(const EvalStep *s) {
    const EvalInput *in = s->input;
    const double *value = in->statistic ? in->statistic(in->user, s->n) : NULL;
    if (value) memcpy(s->out[0], value, (size_t)shape_count(&s->n->shape) * sizeof *value);
}

Node *op_fill(Graph *g, double value) { return op_full(g, &ops_source_number, value); }

Node *op_full(Graph *g, const Shape *shape, double value) {
    return op_build(g, OP_fill, 0, NULL, (Attr){ .value = value, .shape = *shape });
}

const char *shape_fill(Node *n) {
    n->shape = n->attr->shape;
    return n->shape.type == F32 ? NULL : "a constant is a number, not an id";
}

void eval_fill(const EvalStep *s) {
    int64_t count = rows_of(s, &s->n->shape) * shape_count(&s->n->shape);
    for (int64_t i = 0; i < count; i++)
        s->out[0][i] = s->n->attr->value;
}

/* == What the call brings ================================================= */

Node *op_source(Graph *g, Op op) { return op_build(g, op, 0, NULL, (Attr){ 0 }); }

const char *shape_seed(Node *n) { return is(n, ops_source_number); }
const char *shape_per_token(Node *n) { return is(n, ops_source_number); }
const char *shape_generating(Node *n) { return is(n, ops_source_number); }
const char *shape_training(Node *n) { return is(n, ops_source_number); }
const char *shape_decoding(Node *n) { return is(n, ops_source_number); }
const char *shape_sampling(Node *n) { return is(n, ops_source_number); }
const char *shape_tokens(Node *n) { return is(n, ids); }
const char *shape_targets(Node *n) { return is(n, ids); }
const char *shape_position(Node *n) { return is(n, ids); }

void eval_seed(const EvalStep *s) { s->out[0][0] = s->input->seed; }

void eval_per_token(const EvalStep *s) { s->out[0][0] = 1 / (double)s->tokens; }

void eval_generating(const EvalStep *s) { s->out[0][0] = s->input->generating; }

void eval_training(const EvalStep *s) { s->out[0][0] = s->input->training; }

void eval_decoding(const EvalStep *s) { s->out[0][0] = s->input->decoding; }

void eval_sampling(const EvalStep *s) { s->out[0][0] = s->input->draw != 0; }

static void copy_ids(const EvalStep *s, const int32_t *from) {
    for (int64_t i = 0; i < s->tokens; i++)
        s->out[0][i] = from[i];
}

void eval_tokens(const EvalStep *s) { copy_ids(s, s->input->tokens); }
void eval_targets(const EvalStep *s) { copy_ids(s, s->input->targets); }

void eval_position(const EvalStep *s) {
    for (int64_t i = 0; i < s->tokens; i++)
        s->out[0][i] = (double)(i % s->input->time);
}

/* == random =============================================================== */

const char *shape_random(Node *n) {
    n->shape = (Shape){ .lead = LEAD_TOKENS, .rank = 1, .dim = { n->attr->count } };
    if (n->attr->count < 1 || n->attr->count > INT32_MAX / 2)
        return graph_format(n->g, "there can be 1 to %d numbers per token", INT32_MAX / 2);
    if (n->attr->first < 0 || n->attr->first > UINT32_MAX)
        return "there are fewer streams of random numbers";
    return NULL;
}

void eval_random(const EvalStep *s) {
    int64_t count = s->n->attr->count;
    for (int64_t i = 0; i < s->all * count; i++)
        s->out[0][i] = s->input->draw ? philox_uniform(s->input->draw, (uint32_t)s->n->attr->first,
                                                       (uint64_t)(i / count), (uint32_t)(i % count))
                                      : 0.5;
}

/* == wave ================================================================= */

const char *shape_wave(Node *n) {
    const char *error = operand_is(n, 0, "position", "int32[tokens]", LEAD_TOKENS, I32, 0);
    if (error) return error;
    if (n->attr->count < 1 || !n->attr->frequency) return "needs at least one frequency";
    n->shape = (Shape){ .lead = LEAD_TOKENS, .rank = 1, .dim = { n->attr->count } };
    return NULL;
}

void eval_wave(const EvalStep *s) {
    const Attr *a = s->n->attr;
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t i = 0; i < a->count; i++) {
            double angle = s->in[0][t] * a->frequency[i];
            s->out[0][t * a->count + i] = a->value * (a->sine ? sin(angle) : cos(angle));
        }
}

/* == side ================================================================= */

Node *op_side(Node *n, int result) {
    return result ? op_build1(OP_side, n, (Attr){ .first = result }) : n;
}

const char *shape_side(Node *n) {
    const Node *of = n->in[0];
    if (n->attr->first < 1 || n->attr->first >= node_results(of))
        return graph_format(n->g, "%s has %d results, there is no result %lld",
                            op_info[of->op].name, node_results(of), (long long)n->attr->first);
    n->shape = of->side[n->attr->first];
    return NULL;
}

void vjp_side(Node *n, Node **dy, Node **dx) {
    (void)dy, (void)dx;
    bug(n, "its cotangent belongs to the node it is a result of");
}

void eval_side(const EvalStep *s) {
    bug(s->n, "the evaluator hands on the value of the node it is a result of");
}
