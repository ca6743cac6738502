/* SPDX-License-Identifier: MIT
** Curves of training runs: loss at equal tokens and at equal time, on one scale, and the share
** of the tokens that routes take.  A line is the mean over seeds in equal parts of the run, the
** band around it reaches from the lowest seed to the highest, dots are validation losses.
*/
#include "compare_page.h"
#include "console.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>

enum {
    WIDTH = 480,
    LEFT = 54,
    RIGHT = 470,
    TOP = 12,
    TALL = 300,
    HEIGHT = TOP + TALL + 44,
    BINS = 100
};

typedef struct Plot {
    const Comparison *c;
    Band band[COMPARE_MOST];
    Series series;
    double low, high; /* of it */
    double most;      /* at the right */
    bool time;        /* seconds to the right; else tokens */
    Text *t;
} Plot;

static double tokens_of(const Variant *v) {
    return (double)v->report->model->train.batch * (double)v->report->model->context;
}

static double place(const Plot *p, double at) { return LEFT + (RIGHT - LEFT) * at / p->most; }
static double height(const Plot *p, double loss) {
    return TOP + TALL * (p->high - loss) / (p->high - p->low);
}

/* Where part i ends. */
static double bin_at(const Plot *p, int variant, int i) {
    const Band *b = &p->band[variant];
    if (p->time) return b->seconds[i];
    return tokens_of(&p->c->variant[variant]) * (double)((int64_t)(i + 1) * p->c->steps / b->bins);
}

static double step_at(const Plot *p, int variant, int step) {
    double sum = 0;
    const Variant *v = &p->c->variant[variant];
    if (!p->time) return tokens_of(v) * step;
    for (int s = 0; s < p->c->seeds; s++)
        sum += v->run[s].seconds[step - 1];
    return sum / p->c->seeds;
}

static void reach_evaluations(Plot *p, const Variant *v) {
    double first = compare_trained(p->c, v).first.mean;
    p->low = fmin(p->low, first), p->high = fmax(p->high, first);
    for (int s = 0; s < p->c->seeds; s++)
        for (int k = 0; k < v->run[s].evaluations; k++)
            p->low = fmin(p->low, v->run[s].value[k]), p->high = fmax(p->high, v->run[s].value[k]);
}

static void scale(Plot *p) {
    p->low = p->series == SERIES_LOSS ? INFINITY : 0, p->high = -INFINITY, p->most = 1e-9;
    for (int i = 0; i < p->c->n; i++) {
        const Band *b = &p->band[i];
        for (int k = 0; k < b->bins; k++)
            p->low = fmin(p->low, b->low[k]), p->high = fmax(p->high, b->high[k]);
        if (p->series == SERIES_LOSS) reach_evaluations(p, &p->c->variant[i]);
        if (b->bins) p->most = fmax(p->most, bin_at(p, i, b->bins - 1));
    }
    double margin = fmax(0.04 * (p->high - p->low), 1e-6);
    p->low -= margin, p->high += margin;
}

static void draw_axes(const Plot *p) {
    double tick = svg_tick(p->high - p->low, 6, false), across = svg_tick(p->most, 5, false);
    char text[32];
    for (double y = tick * ceil(p->low / tick); y <= p->high; y += tick) {
        print_text(text, sizeof text, "%.4g", y + 0.0); /* no -0 */
        svg_line(p->t, LEFT, height(p, y), RIGHT, height(p, y), "line");
        svg_text(p->t, LEFT - 8, height(p, y) + 4, "soft", "end", 12, text);
    }
    for (double x = 0; x <= p->most; x += across) {
        if (p->time) print_text(text, sizeof text, "%.4g", x);
        else human_count(text, x);
        svg_line(p->t, place(p, x), TOP + TALL, place(p, x), TOP + TALL + 5, "flow");
        svg_text(p->t, place(p, x), TOP + TALL + 19, "soft", "middle", 12, text);
    }
    svg_line(p->t, LEFT, TOP + TALL, RIGHT, TOP + TALL, "flow");
    svg_text(p->t, (LEFT + RIGHT) / 2.0, TOP + TALL + 38, "soft", "middle", 60,
             p->time ? "seconds of training" : "tokens");
    svg_vertical(p->t, 14, TOP + TALL / 2.0,
                 p->series == SERIES_LOSS ? "loss, nats per token" : "share of the tokens");
}

static void draw_band(const Plot *p, int i) {
    const Band *b = &p->band[i];
    text_add(p->t, "<path class=\"c%d\" fill-opacity=\".18\" d=\"", i % SVG_COLOURS);
    for (int k = 0; k < b->bins; k++)
        text_add(p->t, "%c%.1f %.1f", k ? 'L' : 'M', place(p, bin_at(p, i, k)),
                 height(p, b->high[k]));
    for (int k = b->bins - 1; k >= 0; k--)
        text_add(p->t, "L%.1f %.1f", place(p, bin_at(p, i, k)), height(p, b->low[k]));
    text_add(p->t, "z\"/>\n");
}

static void draw_line(const Plot *p, int i) {
    const Band *b = &p->band[i];
    text_add(p->t,
             "<path fill=\"none\" style=\"stroke:var(--c%d);stroke-width:1.8\" "
             "stroke-dasharray=\"%s\" d=\"",
             i % SVG_COLOURS, page_dash(i));
    for (int k = 0; k < b->bins; k++)
        text_add(p->t, "%c%.1f %.1f", k ? 'L' : 'M', place(p, bin_at(p, i, k)),
                 height(p, b->mean[k]));
    text_add(p->t, "\"/>\n");
}

static void draw_dot(const Plot *p, int i, double x, double loss) {
    text_add(p->t, "<circle class=\"c%d\" r=\"3\" cx=\"%.1f\" cy=\"%.1f\"/>\n", i % SVG_COLOURS,
             place(p, x), height(p, loss));
}

/* All seeds evaluate at the same steps. */
static void draw_evaluations(const Plot *p, int i) {
    const Variant *v = &p->c->variant[i];
    double first = compare_trained(p->c, v).first.mean;
    if (isfinite(first)) draw_dot(p, i, 0, first);
    for (int k = 0; k < v->run->evaluations; k++) {
        double sum = 0;
        for (int s = 0; s < p->c->seeds; s++)
            sum += v->run[s].value[k < v->run[s].evaluations ? k : v->run[s].evaluations - 1];
        draw_dot(p, i, step_at(p, i, v->run->step[k]), sum / p->c->seeds);
    }
}

static void add_plot(Plot *p, const char *title) {
    scale(p);
    text_add(p->t, "<figure><figcaption>%s</figcaption>\n", title);
    svg_begin(p->t, title, WIDTH, HEIGHT);
    draw_axes(p);
    for (int i = 0; i < p->c->n; i++)
        if (p->band[i].bins) draw_band(p, i);
    for (int i = 0; i < p->c->n; i++) {
        if (p->band[i].bins) draw_line(p, i);
        if (p->series == SERIES_LOSS) draw_evaluations(p, i);
    }
    text_add(p->t, "</svg></figure>\n");
}

/* == The table ============================================================ */

static bool any_routes(const Comparison *c) {
    for (int i = 0; i < c->n; i++)
        if (c->variant[i].run->routed) return true;
    return false;
}

static void add_result(const Comparison *c, int i, Text *t) {
    TrainingResult x = compare_trained(c, &c->variant[i]);
    text_add(t, "<tr><th scope=\"row\">");
    svg_escaped(t, c->variant[i].label);
    text_add(t, "</th><td>%.4f</td>", x.best.mean);
    text_add(t, x.best.known ? "<td>%.4f</td>" : "<td>-</td>", x.best.deviation);
    if (!i) text_add(t, "<td>baseline</td>");
    else if (!x.difference.known) text_add(t, "<td>%+.4f</td>", x.difference.mean);
    else
        text_add(t, "<td>%+.4f <small>%+.4f to %+.4f%s</small></td>", x.difference.mean,
                 x.difference.low, x.difference.high,
                 stats_covers_zero(&x.difference) ? ": no difference detected" : "");
    if (x.matched)
        text_add(t, "<td>%.3g s <small>%d of %d seeds</small></td>", x.seconds.mean, x.matched,
                 c->seeds);
    else text_add(t, "<td>not reached</td>");
    if (isfinite(x.routed.mean)) text_add(t, "<td>%.1f %%</td>", 100 * x.routed.mean);
    else if (any_routes(c)) text_add(t, "<td>-</td>");
    text_add(t, "</tr>\n");
}

static void add_results(const Comparison *c, Text *t) {
    page_table(t, "Training");
    text_add(t,
             "<thead><tr><th scope=\"col\"></th><th scope=\"col\">best validation loss</th><th "
             "scope=\"col\">deviation over seeds</th>"
             "<th scope=\"col\">paired difference, 95 %% interval</th><th scope=\"col\">time to "
             "the baseline's best</th>%s</tr></thead><tbody>\n",
             any_routes(c) ? "<th scope=\"col\">tokens that routes take at the end</th>" : "");
    for (int i = 0; i < c->n; i++)
        add_result(c, i, t);
    page_table_end(t);
}

static bool open_bands(Plot *p) {
    int bins = p->c->steps < BINS ? p->c->steps : BINS;
    bool ok = true;
    for (int i = 0; i < p->c->n; i++)
        ok = band_of(p->c, &p->c->variant[i], p->series, bins, &p->band[i]) && ok;
    return ok;
}

static void close_bands(Plot *p) {
    for (int i = 0; i < p->c->n; i++)
        band_free(&p->band[i]);
}

static void add_routed(const Comparison *c, Text *t) {
    Plot p = { .c = c, .t = t, .series = SERIES_ROUTED };
    if (!open_bands(&p)) t->failed = true;
    else add_plot(&p, "Tokens that routes take");
    close_bands(&p);
}

void page_training(const Comparison *c, Text *t) {
    Plot p = { .c = c, .t = t };
    if (!c->text) return;
    page_heading(t, "Training",
                 "Lines: training loss, a mean over seeds, with a band from the lowest seed to the "
                 "highest. Dots: validation loss. "
                 "A seed gives initial weights and order of the data, the same for all variants; "
                 "evaluations take no time here.");
    page_variant_keys(c, t);
    text_add(t, "<div class=\"wide\">\n");
    if (!open_bands(&p)) t->failed = true;
    else add_plot(&p, "Loss at equal tokens"), p.time = true, add_plot(&p, "Loss at equal time");
    if (any_routes(c)) add_routed(c, t);
    text_add(t, "</div>\n");
    close_bands(&p);
    add_results(c, t);
}
