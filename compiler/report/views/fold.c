/* SPDX-License-Identifier: MIT
** The primitive graph with equal layers folded: one line per operation, numbered anew in every
** layer.  A layer with the same lines as the layer before it is only counted; the earlier layers
** that it reads may differ.
**   3              of this layer
**   layers.2.12    12 of another layer
**   embed.2        of what belongs to no layer
** Constants and parameters are written where they are used.
*/
#include "views.h"
#include "fatal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site.h"

typedef struct Fold {
    const Graph *g;
    int *layer;  /* by node; -1: none */
    int *number; /* by node: inside its part */
    bool alike;  /* other layers are not named: for comparing */
    Text *t;
} Fold;

static bool is_inline(const Node *n) { return n->op == OP_param || n->op == OP_fill; }

static const char *fold_site_of(const Node *n) { return n->site ? n->site : "model"; }

static bool same_part(const Fold *f, const Node *a, const Node *b) {
    int layer = f->layer[a->id];
    return layer == f->layer[b->id] && (layer >= 0 || !strcmp(fold_site_of(a), fold_site_of(b)));
}

static void fold_add_operand(Fold *f, const Node *n, const Node *user) {
    int from = n->op == OP_param ? site_layer(n->attr->name) : f->layer[n->id],
        to = f->layer[user->id];
    if (n->op == OP_fill) text_json_number(f->t, n->attr->value);
    else if (f->alike && from >= 0 && from != to) text_add(f->t, "earlier");
    else if (n->op == OP_param)
        text_add(f->t, "%s", from == to ? site_inside(n->attr->name) : n->attr->name);
    else if (same_part(f, n, user)) text_add(f->t, "%d", f->number[n->id]);
    else if (from < 0) text_add(f->t, "%s.%d", fold_site_of(n), f->number[n->id]);
    else text_add(f->t, "layers.%d.%d", from, f->number[n->id]);
}

static void add_op(Text *t, const Node *n) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = checked_file(&text, &size);
    graph_print_op(n, f);
    checked_written(f, &text);
    text_bytes(t, text, size);
    free(text);
}

static void fold_add_line(Fold *f, const Node *n) {
    Text *t = f->t;
    size_t from = t->length;
    text_add(t, "  %d = ", f->number[n->id]);
    add_op(t, n);
    for (int i = 0; i < n->nin; i++)
        text_add(t, i ? ", " : " "), fold_add_operand(f, n->in[i], n);
    while (!t->failed && t->length < from + 60)
        text_bytes(t, " ", 1);
    text_add(t, " %s", shape_text(n->g, &n->shape));
    if (n->loc.file) text_add(t, "  %s:%d", n->loc.file, n->loc.line);
    text_add(t, "\n");
}

/* Lines of all operations of a layer, or of a site that is in none. */
static char *part_text(Fold *f, int layer, const char *site) {
    Text t = { 0 }, *before = f->t;
    f->t = &t;
    for (int i = 0; i < f->g->n; i++) {
        const Node *n = f->g->node[i];
        if (is_inline(n) || f->layer[i] != layer || (layer < 0 && strcmp(fold_site_of(n), site)))
            continue;
        fold_add_line(f, n);
    }
    text_add(&t, "%s", "");
    f->t = before;
    return t.at; /* NULL: no memory */
}

static void number_nodes(Fold *f) {
    for (int i = 0; i < f->g->n; i++) {
        const Node *n = f->g->node[i];
        f->layer[i] = site_layer(n->site);
        f->number[i] = 0;
        if (is_inline(n)) continue;
        for (int k = i; k-- > 0;) { /* the last before it of the same part */
            const Node *m = f->g->node[k];
            if (is_inline(m) || !same_part(f, m, n)) continue;
            f->number[i] = f->number[k] + 1;
            break;
        }
    }
}

static void add_part(Fold *f, const char *name, const char *lines) {
    if (*lines) text_add(f->t, "%s\n%s", name, lines);
}

static void add_equal(Fold *f, int first, int last) {
    if (first == last) text_add(f->t, "layer %d: as layer %d\n", last, first - 1);
    if (first < last) text_add(f->t, "layers %d to %d: as layer %d\n", first, last, first - 1);
}

static void fold_add_layers(Fold *f, int layers) {
    char *shown = NULL, name[32];
    int first = 0; /* of the layers that are as the one shown */
    for (int i = 0; i < layers; i++) {
        f->alike = true;
        char *key = part_text(f, i, NULL);
        f->alike = false;
        if (key && shown && !strcmp(key, shown)) {
            free(key);
            continue;
        }
        char *lines = part_text(f, i, NULL);
        add_equal(f, first, i - 1);
        snprintf(name, sizeof name, "layer %d", i);
        if (lines) add_part(f, name, lines);
        if (!key || !lines) f->t->failed = true;
        free(shown), free(lines);
        shown = key;
        first = i + 1;
    }
    add_equal(f, first, layers - 1);
    free(shown);
}

/* Sites outside of layers, those that come before the first layer or after it. */
static void add_sites(Fold *f, bool before) {
    const Graph *g = f->g;
    int start = 0;
    while (start < g->n && f->layer[start] < 0)
        start++;
    for (int i = before ? 0 : start; i < (before ? start : g->n); i++) {
        const Node *n = g->node[i];
        const char *site = fold_site_of(n);
        bool seen = is_inline(n) || f->layer[i] >= 0;
        for (int k = 0; !seen && k < i; k++)
            seen = f->layer[k] < 0 && !is_inline(g->node[k])
                && !strcmp(fold_site_of(g->node[k]), site);
        if (seen) continue;
        char *lines = part_text(f, -1, site);
        if (lines) add_part(f, site, lines);
        else f->t->failed = true;
        free(lines);
    }
}

void report_graph_folded(const Report *r, Text *t) {
    const Graph *g = r->model->graph;
    Fold f = { .g = g, .t = t };
    f.layer = calloc((size_t)g->n + 1, sizeof *f.layer);
    f.number = calloc((size_t)g->n + 1, sizeof *f.number);
    if (f.layer && f.number) {
        number_nodes(&f);
        add_sites(&f, true);
        fold_add_layers(&f, (int)r->model->layers);
        add_sites(&f, false);
    } else {
        t->failed = true;
    }
    free(f.layer), free(f.number);
}
