/* SPDX-License-Identifier: MIT
** Builds the probe's graph; see probe_graph.h.  It copies the model node by node.  A value that is
** linear in the sources (mixing_graph.h) gets a twin, its tangent: the same operation on the
** tangents of these operands, with the other operands unchanged.
*/
#include "probe_graph.h"

#include <stdlib.h>
#include <string.h>

#include "mixing_graph.h"
#include "rebuild.h"
#include "site.h"

typedef struct Facts {
    ProbeFact *at;
    int n, cap;
} Facts;

typedef struct ProbeBuilder {
    const Model *m;
    const MixingGraph *mixing; /* NULL: too many sources to follow */
    Rebuild copy;
    Graph *g;
    Node **tangent; /* by id in the model's graph; NULL: it is 0 */
    /* by id there: its source, its first read; the read after a read; -1 */
    int *source, *read, *next;
    Node *codes;
    Facts input, result;
    int *layer; /* by parameter of the model; -1: of none */
} ProbeBuilder;

/* == Building blocks ====================================================== */

static const char *const kind_name[PROBE_KINDS] = {
    [INPUT_CODES] = "codes",         [INPUT_KEEP] = "keep",
    [INPUT_DIRECTION] = "direction", [RESULT_SOURCE] = "source",
    [RESULT_READ] = "read",          [RESULT_GATE] = "gate",
    [RESULT_LAYER] = "layer",        [RESULT_SIMILARITY] = "similarity",
    [RESULT_ROUTE] = "route",        [RESULT_LOAD] = "load",
};

static void add_fact(ProbeBuilder *p, Facts *f, ProbeFact x) {
    if (f->n == f->cap) {
        ProbeFact *old = f->at;
        f->cap = 2 * f->cap + 64;
        f->at = graph_alloc(p->g, (size_t)f->cap * sizeof *f->at);
        if (f->n) memcpy(f->at, old, (size_t)f->n * sizeof *old);
    }
    f->at[f->n++] = x;
}

static Node *input(ProbeBuilder *p, ProbeKind kind, int index, Shape s) {
    const char *error;
    char name[48];
    snprintf(name, sizeof name, "probe.%s.%d", kind_name[kind], index);
    Node *n = graph_param(p->g, graph_string(p->g, name), s, (Init){ .kind = INIT_CONSTANT },
                          &error);
    if (!n) bug(NULL, "probe: %s: %s", name, error);
    add_fact(p, &p->input, (ProbeFact){ .kind = kind, .index = index, .layer = -1 });
    return n;
}

/* What is set for source s alone. */
static Node *source_input(ProbeBuilder *p, ProbeKind kind, int s, int64_t length) {
    return input(p, kind, s, (Shape){ .rank = 1, .dim = { length } });
}

static Node *as_vector(Node *x) {
    return op_reshape(x, &(Shape){ .rank = 1, .dim = { shape_count(&x->shape) } });
}

static Node *on_rows(Node *x, int list) {
    Shape s = x->shape;
    s.lead = LEAD_TOKENS;
    s.list = list;
    return x->shape.lead == LEAD_TOKENS ? x : op_broadcast(x, &s);
}

/* 1 for each token of a list, [1]. */
static Node *ones(const ProbeBuilder *p, int list) {
    return op_full(p->g, &(Shape){ .lead = LEAD_TOKENS, .rank = 1, .list = list, .dim = { 1 } }, 1);
}

/* x for all tokens: 0 where it has none. */
static Node *everywhere(const ProbeBuilder *p, Node *x) {
    return x->shape.list ? op_scatter(x, graph_list(p->g, x->shape.list)) : x;
}

/* Of one list as they are, otherwise for all tokens. */
static Node *add_up(const ProbeBuilder *p, Node *x, Node *y) {
    return x->shape.list == y->shape.list ? op_add(x, y)
                                          : op_add(everywhere(p, x), everywhere(p, y));
}

/* Mean of x * y over its elements, [1]. */
static Node *mean_product(Node *x, Node *y) {
    Node *a = as_vector(x), *b = as_vector(y);
    return as_vector(op_scale(op_sum(op_mul(a, b), 0), 1.0 / (double)shape_count(&a->shape)));
}

static void report_sums(ProbeBuilder *p, ProbeKind kind, int index, const char *site, Node *sums) {
    char name[320];
    int n = snprintf(name, sizeof name, "%s:%d:", kind_name[kind], index);
    snprintf(name + n, sizeof name - (size_t)n, "%.200s", site);
    const char *kept = graph_string(p->g, name);
    add_fact(p, &p->result, (ProbeFact){ kind, index, -1, kept + n });
    graph_output(p->g, kept, sums);
}

/* Sums of x, and how many tokens they are over: those of its list, if it has one. */
static void report(ProbeBuilder *p, ProbeKind kind, int index, const char *site, Node *x) {
    Node *part[] = { on_rows(x, 0), ones(p, x->shape.list) };
    report_sums(p, kind, index, site, op_token_sum(op_concat(p->g, 2, part, 0)));
}

static int *graph_numbers(Graph *g, int n) {
    int *x = graph_alloc(g, ((size_t)n + 1) * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = -1;
    return x;
}

/* Where a source comes from: the sublayer that the read before it is for. */
static const char *source_site(const Model *m, int s) {
    return s ? m->read[s - 1].site : "embedding";
}

/* == Tangents ============================================================= */

/* Does operand k add to the result by itself, so that it is 0 where nothing is followed? */
static bool adds(const Node *n, int k) {
    switch (n->op) {
    case OP_add:
    case OP_sub:
    case OP_concat:
    case OP_stack: return true;
    case OP_select: return k > 0;
    case OP_linear:
    case OP_linear_back: return k == 2;
    default: return false;
    }
}

static Node *tangent_operand(ProbeBuilder *p, const Node *n, int k) {
    const Node *in = n->in[k];
    if (p->tangent[in->id] && (!mixes_values(n) || k == 2)) return p->tangent[in->id];
    return adds(n, k) ? op_full(p->g, &in->shape, 0) : p->copy.map[in->id];
}

static void follow(ProbeBuilder *p, const Node *n) {
    bool any = false;
    if (!p->mixing || !p->mixing->twin[n->id] || p->mixing->kind[n->id] != NODE_VALUE) return;
    Node **in = graph_alloc(p->g, ((size_t)n->nin + 1) * sizeof *in);
    for (int k = 0; k < n->nin; k++)
        any |= p->tangent[n->in[k]->id] != NULL;
    if (!any) return;
    for (int k = 0; k < n->nin; k++)
        in[k] = tangent_operand(p, n, k);
    p->tangent[n->id] = rebuild_copy(&p->copy, n, in);
}

/* == What is reported ===================================================== */

static void at_source(ProbeBuilder *p, int s, const Node *n) {
    Node *x = p->copy.map[n->id];
    report(p, RESULT_SOURCE, s, source_site(p->m, s), mean_product(x, x));
    p->copy.map[n->id] = op_mul(x, source_input(p, INPUT_KEEP, s, 1));
    if (p->mixing)
        p->tangent[n->id] = on_rows(source_input(p, INPUT_DIRECTION, s, p->m->dim), n->shape.list);
}

static void at_read(ProbeBuilder *p, int r, const Node *n) {
    Node *x = p->copy.map[n->id], *t = p->tangent[n->id], *part[3] = { mean_product(x, x) };
    if (t) {
        part[1] = op_scale(op_sum(op_mul(p->codes, t), 1), 1.0 / (double)p->m->dim);
        part[2] = op_mul(part[1], part[1]);
    }
    report(p, RESULT_READ, r, p->m->read[r].site, t ? op_concat(p->g, 3, part, 0) : part[0]);
}

/* A gate: a sigmoid or tanh that the mixer, or a route, computes. */
static void at_gate(ProbeBuilder *p, int index, const Node *n) {
    char where[256];
    Node *x = p->copy.map[n->id], *ones = op_full(p->g, &x->shape, 1),
         *part[2] = { mean_product(x, ones), mean_product(x, x) };
    Loc at = loc_innermost(n->loc);
    snprintf(where, sizeof where, "%.80s %.150s:%d", n->site ? n->site : "", at.file ? at.file : "",
             at.line);
    report(p, RESULT_GATE, index, where, op_concat(p->g, 2, part, 0));
}

static bool is_gate(const ProbeBuilder *p, const Node *n) {
    return p->mixing && p->mixing->twin[n->id] && (n->op == OP_sigmoid || n->op == OP_tanh);
}

/* == Layers =============================================================== */

/* "layers.3.mlp": the length of "layers.3" */
static int layer_length(const char *site) {
    const char *last = site_last(site);
    return last > site ? (int)(last - site) - 1 : (int)strlen(site);
}

typedef struct Layer {
    const char *name;
    Node *output;
} Layer;

/* Sums of the outputs of sublayers whose sites share all but the last part; 'of': by source, its
** layer. */
static int find_layers(const ProbeBuilder *p, Layer *layer, int *of) {
    const Model *m = p->m;
    int n = 0;
    for (int s = 1; s < m->nsource; s++) {
        const char *site = source_site(m, s);
        int length = layer_length(site);
        char name[256];
        snprintf(name, sizeof name, "%.*s", length, site);
        if (!m->source[s]) continue;
        Node *x = p->copy.map[m->source[s]->id];
        if (n && !strcmp(layer[n - 1].name, name))
            layer[n - 1].output = add_up(p, layer[n - 1].output, x);
        else layer[n++] = (Layer){ graph_string(p->g, name), x };
        of[s] = n - 1;
    }
    return n;
}

/* Parameters of a layer mostly follow one another. */
static void tell_params(ProbeBuilder *p, const Layer *layer, int n) {
    const Graph *g = p->m->graph;
    p->layer = graph_numbers(p->g, g->nparam);
    for (int i = 0, last = 0; i < g->nparam; i++) {
        const char *name = g->param[i].node->attr->name;
        int k = last < n && site_within(name, layer[last].name) ? last : 0;
        while (k < n && !site_within(name, layer[k].name))
            k++;
        if (k < n) p->layer[i] = last = k;
    }
}

static void tell_sources(ProbeBuilder *p, const int *of) {
    for (int i = 0; i < p->result.n; i++)
        if (p->result.at[i].kind == RESULT_SOURCE)
            p->result.at[i].layer = of[p->result.at[i].index];
}

/* Cosines are of tokens that both layers have an output of. */
static void at_similarities(ProbeBuilder *p, const Layer *layer, int n, Node **size) {
    Node **output = graph_alloc(p->g, (size_t)n * sizeof *output),
         **there = graph_alloc(p->g, (size_t)n * sizeof *there);
    for (int i = 0; i < n; i++) {
        output[i] = everywhere(p, layer[i].output);
        size[i] = everywhere(p, size[i]);
        there[i] = everywhere(p, ones(p, layer[i].output->shape.list));
    }
    Node *all = op_stack(p->g, n, output),
         *inverse = op_rsqrt(op_max(op_concat(p->g, n, size, 0), op_fill(p->g, 1e-30)));
    Node *tokens = op_concat(p->g, n, there, 0);
    for (int i = 0; i < n; i++) {
        Node *product = op_scale(op_sum(op_mul(all, output[i]), 1), 1.0 / (double)p->m->dim);
        Node *part[] = { op_mul(op_mul(product, inverse), op_slice(inverse, 0, i, 1)),
                         op_mul(tokens, there[i]) };
        report(p, RESULT_SIMILARITY, i, layer[i].name, op_concat(p->g, 2, part, 0));
    }
}

static void at_layers(ProbeBuilder *p) {
    Layer *layer = graph_alloc(p->g, (size_t)p->m->nsource * sizeof *layer);
    int *of = graph_numbers(p->g, p->m->nsource), n = find_layers(p, layer, of);
    tell_sources(p, of);
    tell_params(p, layer, n);
    Node **size = graph_alloc(p->g, (size_t)n * sizeof *size);
    for (int i = 0; i < n; i++) {
        size[i] = mean_product(layer[i].output, layer[i].output);
        report(p, RESULT_LAYER, i, layer[i].name, size[i]);
    }
    if (n <= PROBE_LAYERS) at_similarities(p, layer, n, size);
}

/* == Routes =============================================================== */

/* What the sublayers add that a route decides about, for all tokens; NULL: there are none. */
static Node *routed_output(const ProbeBuilder *p, const char *site) {
    const Model *m = p->m;
    Node *sum = NULL;
    for (int s = 1; s < m->nsource; s++) {
        if (!m->source[s] || !site_within(source_site(m, s), site)) continue;
        Node *x = p->copy.map[m->source[s]->id];
        sum = sum ? add_up(p, sum, x) : x;
    }
    return sum ? everywhere(p, sum) : NULL;
}

/* The list says what is decided, whoever wrote the route. */
static void at_route(ProbeBuilder *p, int list) {
    const Node *rows = graph_list(p->m->graph, list);
    const char *site = rows->site ? rows->site : "model";
    Node *taken = everywhere(p, ones(p, list)), *x = routed_output(p, site), *part[3] = { taken };
    if (x) {
        Node *square = mean_product(x, x);
        part[1] = op_mul(taken, square);
        part[2] = op_mul(op_rsub(1, taken), square);
    }
    report(p, RESULT_ROUTE, list - 1, site, x ? op_concat(p->g, 3, part, 0) : taken);
}

/* What the rules of buffers get. */
static void at_loads(ProbeBuilder *p) {
    const Graph *g = p->m->graph;
    int loads = 0;
    for (int i = 0; i < g->nout; i++) {
        const char *name = g->out[i].name;
        if (strncmp(name, STATISTIC, strlen(STATISTIC)) != 0) continue;
        Node *part[] = { as_vector(p->copy.map[g->out[i].node->id]), op_token_sum(ones(p, 0)) };
        report_sums(p, RESULT_LOAD, loads++, name + strlen(STATISTIC), op_concat(p->g, 2, part, 0));
    }
}

/* == All of it ============================================================ */

/* A node may be several sources and reads: a sublayer that hands on what it got. */
static void find_sites(ProbeBuilder *p) {
    const Model *m = p->m;
    p->source = graph_numbers(p->g, m->graph->n), p->read = graph_numbers(p->g, m->graph->n),
    p->next = graph_numbers(p->g, m->nread);
    for (int s = m->nsource; s-- > 0;)
        if (m->source[s]) p->source[m->source[s]->id] = s;
    for (int r = m->nread; r-- > 0;) {
        if (!m->read[r].result) continue;
        int *first = &p->read[m->read[r].result->id];
        p->next[r] = *first;
        *first = r;
    }
}

static void at_node(ProbeBuilder *p, const Node *n, int *gates) {
    follow(p, n);
    if (is_gate(p, n)) at_gate(p, (*gates)++, n);
    if (p->source[n->id] >= 0) at_source(p, p->source[n->id], n);
    for (int r = p->read[n->id]; r >= 0; r = p->next[r])
        at_read(p, r, n);
}

static void copy_model(ProbeBuilder *p) {
    const Graph *from = p->m->graph;
    int gates = 0;
    for (int i = 0; i < from->n; i++) {
        const Node *n = from->node[i];
        Node **in = graph_alloc(p->g, ((size_t)n->nin + 1) * sizeof *in);
        for (int k = 0; k < n->nin; k++)
            in[k] = p->copy.map[n->in[k]->id];
        p->g->loc = n->loc;
        p->g->site = n->site;
        p->copy.map[i] = rebuild_copy(&p->copy, n, in);
        at_node(p, n, &gates);
    }
}

static int64_t code_count(int64_t dim) {
    int64_t n = 1;
    while (n < PROBE_CODES && dim % (2 * n) == 0)
        n *= 2;
    return n;
}

ProbeGraph probe_graph(const Model *m) {
    Graph *g = graph_new_like(m->graph);
    MixingGraph *mixing = m->nsource <= PROBE_SOURCES ? mixing_graph_new(m, 1) : NULL;
    size_t n = (size_t)m->graph->n + 1;
    ProbeBuilder p = {
        .m = m, .mixing = mixing, .g = g, .tangent = graph_alloc(g, n * sizeof *p.tangent)
    };
    p.copy = (Rebuild){ .from = m->graph, .to = g, .map = graph_alloc(g, n * sizeof *p.copy.map) };
    if (mixing)
        p.codes = input(&p, INPUT_CODES, 0,
                        (Shape){ .rank = 2, .dim = { code_count(m->dim), m->dim } });
    find_sites(&p);
    copy_model(&p);
    g->loc = (Loc){ 0 };
    g->site = NULL;
    at_layers(&p);
    for (int list = 1; list <= graph_lists(m->graph); list++)
        at_route(&p, list);
    at_loads(&p);
    graph_output(g, "nll", p.copy.map[graph_find(m->graph, "nll")->id]);
    mixing_graph_free(mixing);
    return (ProbeGraph){ g, p.input.at, p.result.at, p.input.n, p.result.n, p.layer };
}
