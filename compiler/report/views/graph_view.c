/* SPDX-License-Identifier: MIT
** The graph: as text, all primitive operations of the model; as a picture, the kernels that a
** forward pass calls, in order, and what flows between them.  Consecutive layers that call the
** same kinds of kernels are drawn once, as the last of them, with the range of the numbers of all
** of them.
*/
#include "graph_drawing.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "site.h"
#include "svg.h"
#include "work.h"

void report_graph_text(const Report *r, Text *t) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = checked_file(&text, &size);
    graph_print(r->model->graph, f, true);
    checked_written(f, &text);
    text_bytes(t, text, size);
    free(text);
}

/* == What is drawn ======================================================== */

static void graph_view_widen(Spread *r, int n, bool first) {
    if (first || n < r->least) r->least = n;
    if (first || n > r->most) r->most = n;
}

static void stretch(Range *r, double x, bool first) {
    if (first || x < r->least) r->least = x;
    if (first || x > r->most) r->most = x;
}

/* The kind of a call: the kernel of an anchor, a row kernel's place in its layer. */
static const char *graph_view_kind_of(const Drawing *d, int step) {
    const Step *s = &d->p->step[step];
    const PlannedStep *cost = &d->r->planned.step[PROGRAM_LOGITS][step];
    if (s->kind == STEP_ANCHOR) return d->r->planned.code.kernel[cost->kernel].name;
    return site_last(work_site(s));
}

static bool same_kinds(const Drawing *d, int a, int b, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(graph_view_kind_of(d, a + i), graph_view_kind_of(d, b + i))
            || d->p->step[a + i].kind != d->p->step[b + i].kind)
            return false;
    return true;
}

static int layer_of(const Drawing *d, int step) { return site_layer(work_site(&d->p->step[step])); }

/* == Counting ============================================================= */

typedef struct Reads {
    const Plan *p;
    int before, reads, earlier;
} Reads;

static void count_read(void *user, const Node *n) {
    Reads *r = user;
    int step = work_step(r->p, n);
    if (n->shape.lead != LEAD_TOKENS || n->shape.type == I32) return;
    r->reads++;
    r->earlier += step >= 0 && step < r->before;
}

static int graph_view_operations(const Step *s) {
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += op_info[s->node[i]->op].class != VIEW;
    return s->kind == STEP_ANCHOR || s->kind == STEP_REDUCE ? 1 : n;
}

static void count_box(const Drawing *d, Box *b, int step, int first_step, bool first) {
    Reads reads = { d->p, first_step, 0, 0 };
    graph_for_reads(d, step, count_read, &reads);
    graph_view_widen(&b->operations, graph_view_operations(&d->p->step[step]), first);
    graph_view_widen(&b->reads, reads.reads, first);
    graph_view_widen(&b->earlier, reads.earlier, first);
    Work w = report_step_work(d->r, PROGRAM_LOGITS, step);
    stretch(&b->flops, w.flops, first);
    stretch(&b->bytes, w.bytes, first);
    b->step = step;
}

/* == Groups =============================================================== */

static void add_layer(Drawing *d, int from, int steps, int layer) {
    LayerRun *last = d->ngroup ? &d->group[d->ngroup - 1] : NULL;
    bool folded = last && last->first >= 0 && layer >= 0 && last->steps == steps
        && same_kinds(d, last->from, from, steps);
    if (!folded) {
        last = &d->group[d->ngroup++];
        *last = (LayerRun){ .first = layer,
                            .steps = steps,
                            .box = graph_alloc(d->p->g, (size_t)steps * sizeof *last->box) };
    }
    last->last = layer;
    last->from = from;
    for (int i = 0; i < steps; i++)
        count_box(d, &last->box[i], from + i, from, !folded);
}

static void find_groups(Drawing *d) {
    d->group = graph_alloc(d->p->g, ((size_t)d->p->nstep + 1) * sizeof *d->group);
    for (int i = 0; i < d->p->nstep;) {
        int k = i, layer = layer_of(d, i);
        while (k < d->p->nstep && layer_of(d, k) == layer)
            k++;
        add_layer(d, i, k - i, layer);
        i = k;
    }
}

/* == Drawing ============================================================== */

enum {
    BOX_X = 120,
    BOX_WIDTH = 400,
    BOX_HEIGHT = 82,
    BOX_GAP = 22,
    HEAD = 36,
    FOOT = 20,
    LANES = 8,
    LANE = 11,
    TOP = 74
};

static void add_range(Text *t, Spread r, const char *what) {
    if (r.least == r.most) text_add(t, "%d %s%s", r.most, what, r.most == 1 ? "" : "s");
    else text_add(t, "%d\xe2\x80\x93%d %ss", r.least, r.most, what);
}

static bool graph_view_same(Range r) { return r.most - r.least <= 1e-6 * r.most; }

static void graph_view_add_numbers(Text *t, Range r, char *(*number)(char to[32], double x)) {
    char a[32], b[32];
    if (!graph_view_same(r)) text_add(t, "%s\xe2\x80\x93", number(a, r.least));
    text_add(t, "%s", number(b, r.most));
}

static bool alike(const LayerRun *g) {
    for (int i = 0; i < g->steps; i++) {
        const Box *b = &g->box[i];
        const Spread all[] = { b->operations, b->reads, b->earlier };
        for (int k = 0; k < 3; k++)
            if (all[k].least != all[k].most) return false;
        if (!graph_view_same(b->flops) || !graph_view_same(b->bytes)) return false;
    }
    return true;
}

static void draw_text(const Drawing *d, double x, double y, const char *class, int most,
                      Text *line) {
    svg_text(d->t, x, y, class, "start", most, line->at ? line->at : "");
    text_clear(line);
}

static void add_weight(const Node *n, Text *line) {
    const Node *w = n->nin > 1 ? plan_storage(n->in[1]) : NULL,
               *first = n->nin ? plan_storage(n->in[0]) : NULL;
    const Node *param = w && w->op == OP_param ? w : first && first->op == OP_param ? first : NULL;
    if (param) text_add(line, "weights %s", param->attr->name);
    else text_add(line, "%s", shape_text(n->g, &n->shape));
}

/* "mul 9, add 7": the most frequent first. */
static void add_operations(const Step *s, Text *line) {
    int count[NOP] = { 0 };
    for (int i = 0; i < s->n; i++)
        count[s->node[i]->op] += op_info[s->node[i]->op].class != VIEW;
    for (int shown = 0; shown < NOP; shown++) {
        int best = 0;
        for (int op = 1; op < NOP; op++)
            if (count[op] > count[best]) best = op;
        if (!count[best]) return;
        text_add(line, "%s%s %d", shown ? ", " : "", op_info[best].name, count[best]);
        count[best] = 0;
    }
}

static void draw_box(const Drawing *d, const LayerRun *g, int i, double y) {
    const Box *b = &g->box[i];
    const Step *s = &d->p->step[b->step];
    bool rows = s->kind != STEP_ANCHOR;
    Text line = { 0 };
    text_add(d->t,
             "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"6\" class=\"box\"/>\n",
             BOX_X, y, BOX_WIDTH, BOX_HEIGHT);
    text_add(d->t, "<rect x=\"%d\" y=\"%.1f\" width=\"6\" height=\"%d\" class=\"c%d\"/>\n", BOX_X,
             y, BOX_HEIGHT, rows ? 1 : 0);
    text_add(&line, rows ? "row kernel, %s" : "%s", graph_view_kind_of(d, b->step));
    draw_text(d, BOX_X + 18, y + 19, "name", 46, &line);
    graph_view_add_numbers(&line, b->flops, human_flops);
    text_add(&line, ", ");
    graph_view_add_numbers(&line, b->bytes, human_bytes);
    text_add(&line, " per token");
    draw_text(d, BOX_X + 18, y + 36, "soft", 60, &line);
    add_range(&line, b->operations, "operation");
    text_add(&line, ": ");
    if (rows) add_operations(s, &line);
    else add_weight(s->anchor, &line);
    draw_text(d, BOX_X + 18, y + 53, "mono", 49, &line);
    graph_draw_places(d, g, i, BOX_X + 18, y + 71);
    text_free(&line);
}

static void draw_tip(Text *t, double x, double y, bool down) {
    if (down) text_add(t, "<path class=\"tip\" d=\"M%.1f %.1fl-4 -8h8z\"/>\n", x, y);
    else text_add(t, "<path class=\"tip\" d=\"M%.1f %.1fl8 -4v8z\"/>\n", x, y);
}

static double box_y(double top, int i) { return top + HEAD + i * (BOX_HEIGHT + BOX_GAP); }

/* Which boxes of the group a box reads. */
typedef struct Sources {
    const Plan *p;
    const LayerRun *g;
    bool *from;
} Sources;

static void mark_source(void *user, const Node *n) {
    Sources *s = user;
    int step = work_step(s->p, n);
    if (step >= s->g->from && step < s->g->from + s->g->steps) s->from[step - s->g->from] = true;
}

/* From box a to box b: straight down to the next, else along a free lane at the right. */
static void draw_flow(const Drawing *d, double top, int a, int b, int *lane) {
    double from = box_y(top, a) + BOX_HEIGHT, to = box_y(top, b);
    if (b == a + 1) {
        svg_line(d->t, BOX_X + BOX_WIDTH / 2.0, from, BOX_X + BOX_WIDTH / 2.0, to - 6, "flow");
        draw_tip(d->t, BOX_X + BOX_WIDTH / 2.0, to, true);
        return;
    }
    int free = 0;
    while (free < LANES - 1 && lane[free] > a)
        free++;
    lane[free] = b;
    double x = BOX_X + BOX_WIDTH, out = x + 12 + free * LANE, y = to + 14 + 4 * free;
    text_add(d->t, "<path class=\"flow\" d=\"M%.1f %.1fH%.1fV%.1fH%.1f\"/>\n", x, from - 10, out, y,
             x + 7);
    draw_tip(d->t, x, y, false);
}

static void draw_flows(const Drawing *d, const LayerRun *g, double top) {
    int lane[LANES];
    bool *from = calloc((size_t)g->steps + 1, sizeof *from);
    for (int i = 0; i < LANES; i++)
        lane[i] = -1;
    for (int b = 0; from && b < g->steps; b++) {
        Sources s = { d->p, g, from };
        memset(from, 0, (size_t)g->steps * sizeof *from);
        graph_for_reads(d, g->from + b, mark_source, &s);
        for (int a = 0; a < b; a++)
            if (from[a]) draw_flow(d, top, a, b, lane);
    }
    free(from);
}

/* What comes from earlier layers, at the left. */
static void draw_earlier(const Drawing *d, const LayerRun *g, double top) {
    for (int i = 0; i < g->steps; i++) {
        Spread r = g->box[i].earlier;
        double y = box_y(top, i) + BOX_HEIGHT / 2.0;
        Text line = { 0 };
        if (!r.most) continue;
        svg_line(d->t, 24, y, BOX_X - 7, y, "flow");
        text_add(d->t, "<path class=\"tip\" d=\"M%d %.1fl-8 -4v8z\"/>\n", BOX_X, y);
        add_range(&line, r, "value");
        draw_text(d, 24, y - 6, "soft", 16, &line);
        draw_text(d, 24, y + 16, "soft", 16, (text_add(&line, "from before"), &line));
        text_free(&line);
    }
}

static double group_height(const LayerRun *g) {
    return HEAD + g->steps * (BOX_HEIGHT + BOX_GAP) - BOX_GAP + FOOT;
}

static void draw_group(const Drawing *d, const LayerRun *g, double top) {
    Text title = { 0 };
    if (g->first < 0) text_add(&title, "%s", work_site(&d->p->step[g->from]));
    else if (g->first == g->last) text_add(&title, "layer %d", g->first);
    else
        text_add(&title,
                 alike(g) ? "layers %d to %d, alike; drawn: layer %d"
                          : "layers %d to %d, the same kernels; a\xe2\x80\x93"
                            "b: over the layers; drawn: layer "
                            "%d",
                 g->first, g->last, g->last);
    text_add(d->t,
             "<rect x=\"12\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" rx=\"8\" class=\"group\"/>\n",
             top, SVG_WIDTH - 24, group_height(g));
    draw_text(d, 24, top + 22, "name", 76, &title);
    text_free(&title);
    draw_earlier(d, g, top);
    draw_flows(d, g, top);
    for (int i = 0; i < g->steps; i++)
        draw_box(d, g, i, box_y(top, i));
}

void report_graph_svg(const Report *r, Text *t) {
    const Plan *p = r->planned.plans.plan[PROGRAM_LOGITS];
    Drawing d = { .r = r, .p = p, .shared = rows_shared(p), .t = t };
    double height = TOP;
    char title[128];
    find_groups(&d);
    for (int i = 0; i < d.ngroup; i++)
        height += group_height(&d.group[i]) + BOX_GAP;
    print_text(title, sizeof title, "%.64s: kernels of a forward pass", r->model->name);
    svg_open(t, title, height);
    double x = svg_key(t, 16, 50, 1, "row kernel: what is fused between products");
    svg_key(t, x, 50, 0, "product, attention, lookup");
    height = TOP - 8;
    for (int i = 0; i < d.ngroup; i++) {
        draw_group(&d, &d.group[i], height);
        height += group_height(&d.group[i]) + BOX_GAP;
    }
    svg_close(t);
}
