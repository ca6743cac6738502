/* SPDX-License-Identifier: MIT
** See small_model.h. */
#include "small_model.h"

#include <stdio.h>

enum { MOST = 4096 }; /* elements the head reads at once */

Probe probe_new(uint64_t seed, int64_t dim, int together) {
    Probe p = { .g = graph_new(), .random = { seed }, .together = together };
    Node *table = probe_param(&p, probe_shape(2, (int64_t[]){ PROBE_VOCAB, dim }));
    p.x = op_embed(table, op_source(p.g, OP_tokens));
    return p;
}

Shape probe_shape(int rank, const int64_t *dim) {
    Shape s = { .rank = rank };
    for (int i = 0; i < rank; i++)
        s.dim[i] = dim[i];
    return s;
}

Node *probe_param(Probe *p, Shape s) {
    char name[32];
    const char *error;
    snprintf(name, sizeof name, "p%d", p->params++);
    s.lead = LEAD_NONE;
    return graph_param(p->g, name, s, (Init){ .kind = INIT_NORMAL, .value = 0.5 }, &error);
}

Node *probe_stored(Probe *p, Shape s) {
    int64_t count = shape_count(&s), dim = p->x->shape.dim[0];
    s.lead = LEAD_NONE;
    return op_reshape(op_linear(p->x, probe_param(p, probe_shape(2, (int64_t[]){ count, dim }))),
                      &s);
}

Node *probe_rows(Probe *p, Shape s) {
    return op_tanh(op_mul(probe_stored(p, s), probe_param(p, s)));
}

static Node *head(Probe *p, Node *y, int64_t count) {
    Shape w = probe_shape(2, (int64_t[]){ count, y->shape.dim[0] });
    return op_linear(y, probe_param(p, w));
}

static void flush(Probe *p) {
    if (!p->npending) return;
    Node *all = p->npending == 1 ? p->pending[0] : op_concat(p->g, p->npending, p->pending, 0);
    Node *part = head(p, all, PROBE_VOCAB);
    p->sum = p->sum ? op_add(p->sum, part) : part;
    p->npending = 0;
    p->elements = 0;
}

void probe_read(Probe *p, Node *y) {
    int64_t count = shape_count(&y->shape);
    Shape flat = probe_shape(1, &count), one = probe_shape(1, (int64_t[]){ 1 });
    Node *x = op_reshape(y, &flat);
    if (x->shape.lead == LEAD_NONE) x = op_mul(x, probe_rows(p, one));
    if (p->npending == PROBE_PENDING || p->elements + count > MOST) flush(p);
    p->pending[p->npending++] = x;
    p->elements += count;
    if (p->npending >= 1 + draw_below(&p->random, p->together)) flush(p);
}

Graph *probe_end(Probe *p, Node *more) { return probe_end_of(p, PROBE_VOCAB, more); }

Graph *probe_end_of(Probe *p, int64_t vocab, Node *more) {
    const char *error;
    flush(p);
    Node *logits = head(p, p->sum, vocab);
    Node *in[] = { logits, op_source(p->g, OP_targets) };
    Node *nll = node_new(p->g, OP_cross_entropy, 2, in, (Attr){ 0 }, &error);
    Node *mean = op_mul(op_token_sum(nll), op_source(p->g, OP_per_token));
    graph_output(p->g, "logits", logits);
    graph_output(p->g, "nll", nll);
    graph_output(p->g, "cross_entropy", mean);
    graph_output(p->g, "loss", more ? op_add(mean, more) : mean);
    return p->g;
}
