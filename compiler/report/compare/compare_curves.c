/* SPDX-License-Identifier: MIT
** Curves of training runs: loss at equal tokens and at equal time, on one scale; the difference of
** validation losses from the baseline; the share of the tokens that routes take.  A line is the
** mean over seeds in equal parts of the run, its band reaches from the lowest to the highest seed,
** and dots are validation losses.  The scale omits rare values such as those of the first steps;
** the page marks them at the edge of the picture and says so.
*/
#include "compare_page.h"
#include "console.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>

enum {
    WIDTH = 480,
    RIGHT = 458,
    TOP = 12,
    TALL = 300,
    HEIGHT = TOP + TALL + 44,
    BINS = 100,
    DOTS = 8
};

/* Of all values so many are in the picture, unless those left out are near. */
#define SHOWN 0.9

typedef struct Plot {
    const Comparison *c;
    Band band[COMPARE_MOST];
    Series series;
    bool difference;  /* of validation losses, the bands being these */
    double low, high; /* of it */
    double top[COMPARE_MOST], bottom[COMPARE_MOST]; /* the most and least of each variant */
    double most;                                    /* at the right */
    double left, tick;                              /* of the plot; between losses */
    bool time;                                      /* seconds to the right; else tokens */
    Text *t;
} Plot;

static double tokens_of(const Variant *v) {
    return (double)v->report->model->train.batch * (double)v->report->model->context;
}

static double curves_place(const Plot *p, double at) {
    return p->left + (RIGHT - p->left) * at / p->most;
}
static double height(const Plot *p, double loss) {
    return TOP + TALL * (p->high - loss) / (p->high - p->low);
}

static double step_at(const Plot *p, int variant, int step) {
    double sum = 0;
    const Variant *v = &p->c->variant[variant];
    if (!p->time) return tokens_of(v) * step;
    for (int s = 0; s < p->c->seeds; s++)
        sum += compare_seconds(p->c, v, &v->run[s], step);
    return sum / p->c->seeds;
}

/* Where part i ends. */
static double bin_at(const Plot *p, int variant, int i) {
    const Band *b = &p->band[variant];
    if (p->time) return b->seconds[i];
    if (p->difference) return step_at(p, variant, p->c->variant[variant].run->step[i]);
    return tokens_of(&p->c->variant[variant]) * (double)((int64_t)(i + 1) * p->c->steps / b->bins);
}

/* == The scale ============================================================ */

/* All values of bands and dots. */
typedef struct Values {
    double *at;
    int n;
} Values;

static void gather(Plot *p, int i, Values *v) {
    const Variant *own = &p->c->variant[i];
    int from = v->n;
    for (int k = 0; k < p->band[i].bins; k++)
        v->at[v->n++] = p->band[i].low[k], v->at[v->n++] = p->band[i].high[k];
    for (int s = 0; p->series == SERIES_LOSS && !p->difference && s < p->c->seeds; s++) {
        if (own->run[s].has_first) v->at[v->n++] = own->run[s].first;
        for (int k = 0; k < own->run[s].evaluations; k++)
            v->at[v->n++] = own->run[s].value[k];
    }
    p->top[i] = -INFINITY, p->bottom[i] = INFINITY;
    for (int k = from; k < v->n; k++)
        p->top[i] = fmax(p->top[i], v->at[k]), p->bottom[i] = fmin(p->bottom[i], v->at[k]);
}

static int values_of(const Plot *p) {
    int n = 0;
    for (int i = 0; i < p->c->n; i++) {
        n += 2 * p->band[i].bins;
        for (int s = 0; s < p->c->seeds; s++)
            n += 1 + p->c->variant[i].run[s].evaluations;
    }
    return n;
}

/* An end of the scale: the last value, or, where that is far off, what SHOWN of them reach. */
static double curves_end_of(const Values *v, double share, double last, double span) {
    double edge = stats_quantile(v->at, v->n, share);
    return fabs(last - edge) > 0.35 * span ? edge : last;
}

static void scale_values(Plot *p, const Values *v) {
    double least = stats_quantile(v->at, v->n, 0), most = stats_quantile(v->at, v->n, 1),
           span = stats_quantile(v->at, v->n, SHOWN) - least;
    p->high = curves_end_of(v, SHOWN, most, span);
    p->low = p->difference ? curves_end_of(v, 1 - SHOWN, least, most - least) : least;
    if (p->series == SERIES_ROUTED) p->low = 0, p->high = most;
    if (p->difference) p->low = fmin(p->low, 0), p->high = fmax(p->high, 0);
    double margin = p->high > p->low ? 0.04 * (p->high - p->low) : 0.01; /* nats, or a share */
    p->low -= margin, p->high += margin;
}

static void curves_scale(Plot *p) {
    Values v = { malloc(((size_t)values_of(p) + 1) * sizeof *v.at), 0 };
    p->most = 1e-9;
    p->low = 0, p->high = 1;
    if (!v.at) p->t->failed = true;
    for (int i = 0; v.at && i < p->c->n; i++) {
        gather(p, i, &v);
        if (p->band[i].bins) p->most = fmax(p->most, bin_at(p, i, p->band[i].bins - 1));
    }
    if (v.n) scale_values(p, &v);
    free(v.at);
    p->tick = svg_tick(p->high - p->low, 6, false);
    p->left = svg_left(svg_ticks_width(p->low, p->high, p->tick));
}

/* == The picture ========================================================== */

static void curves_draw_axes(const Plot *p) {
    double across = svg_tick(p->most, 5, false);
    char text[32];
    for (double y = p->tick * ceil(p->low / p->tick); y <= p->high; y += p->tick) {
        svg_tick_text(text, y, p->tick);
        svg_line(p->t, p->left, height(p, y), RIGHT, height(p, y), "line");
        svg_text(p->t, p->left - 8, height(p, y) + 4, "soft", "end", 12, text);
    }
    for (double x = 0; x <= p->most; x += across) {
        if (p->time) print_figures(text, x, 4);
        else human_count(text, x);
        svg_line(p->t, curves_place(p, x), TOP + TALL, curves_place(p, x), TOP + TALL + 5, "flow");
        svg_text(p->t, curves_place(p, x), TOP + TALL + 19, "soft", "middle", 12, text);
    }
    svg_line(p->t, p->left, TOP + TALL, RIGHT, TOP + TALL, "flow");
    svg_text(p->t, (p->left + RIGHT) / 2, TOP + TALL + 38, "soft", "middle", 60,
             p->time ? "seconds of training" : "tokens");
    svg_vertical(p->t, SVG_NAME, TOP + TALL / 2.0,
                 p->series == SERIES_ROUTED ? "share of the tokens"
                     : p->difference        ? "difference, nats per token"
                                            : "loss, nats per token");
}

/* Parts of a run that a line joins: the last evaluation is another measure than those before. */
static int drawn(const Plot *p, int i) {
    int bins = p->band[i].bins;
    return p->difference && bins > 1 ? bins - 1 : bins;
}

static void draw_band(const Plot *p, int i) {
    const Band *b = &p->band[i];
    text_add(p->t, "<path class=\"c%d\" fill-opacity=\".18\" d=\"", i % SVG_COLOURS);
    for (int k = 0; k < drawn(p, i); k++)
        text_add(p->t, "%c%.1f %.1f", k ? 'L' : 'M', curves_place(p, bin_at(p, i, k)),
                 height(p, b->high[k]));
    for (int k = drawn(p, i) - 1; k >= 0; k--)
        text_add(p->t, "L%.1f %.1f", curves_place(p, bin_at(p, i, k)), height(p, b->low[k]));
    text_add(p->t, "z\"/>\n");
}

static void draw_line(const Plot *p, int i) {
    const Band *b = &p->band[i];
    text_add(p->t,
             "<path fill=\"none\" style=\"stroke:var(--c%d);stroke-width:1.8\" "
             "stroke-dasharray=\"%s\" d=\"",
             i % SVG_COLOURS, page_dash(i));
    for (int k = 0; k < drawn(p, i); k++)
        text_add(p->t, "%c%.1f %.1f", k ? 'L' : 'M', curves_place(p, bin_at(p, i, k)),
                 height(p, b->mean[k]));
    text_add(p->t, "\"/>\n");
}

static void curves_draw_dot(const Plot *p, int i, double x, double loss) {
    text_add(p->t, "<circle class=\"c%d\" r=\"3\" cx=\"%.1f\" cy=\"%.1f\"/>\n", i % SVG_COLOURS,
             curves_place(p, x), height(p, loss));
}

/* Of evaluation k, over seeds. */
static double evaluated(const Plot *p, int i, int k) {
    const Variant *v = &p->c->variant[i];
    double sum = 0;
    for (int s = 0; s < p->c->seeds; s++)
        sum += v->run[s].value[k < v->run[s].evaluations ? k : v->run[s].evaluations - 1];
    return sum / p->c->seeds;
}

/* The last evaluation is of all of the text, those before it of windows: another measure. */
static void draw_whole(const Plot *p, int i, double x, double loss) {
    text_add(
        p->t,
        "<path class=\"whole\" style=\"stroke:var(--c%d)\" d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\"/>\n",
        i % SVG_COLOURS, curves_place(p, x), height(p, loss) - 5);
}

/* With a bar from the lowest seed to the highest. */
static void draw_whole_difference(const Plot *p, int i) {
    const Band *b = &p->band[i];
    int k = b->bins - 1;
    if (k < 0) return;
    double at = bin_at(p, i, k), x = curves_place(p, at);
    text_add(p->t, "<path style=\"stroke:var(--c%d);stroke-width:1.4\" d=\"M%.1f %.1fV%.1f\"/>\n",
             i % SVG_COLOURS, x, height(p, b->low[k]), height(p, b->high[k]));
    draw_whole(p, i, at, b->mean[k]);
}

/* All seeds evaluate at the same steps; some of those of windows are drawn, and the last. */
static void draw_evaluations(const Plot *p, int i) {
    const Variant *v = &p->c->variant[i];
    double first = compare_trained(p->c, v).first.mean;
    int last = v->run->evaluations - 1, every = last / DOTS + 1;
    if (isfinite(first)) curves_draw_dot(p, i, 0, first);
    for (int k = last % every; k < last; k += every)
        curves_draw_dot(p, i, step_at(p, i, v->run->step[k]), evaluated(p, i, k));
    if (last >= 0) draw_whole(p, i, step_at(p, i, v->run->step[last]), evaluated(p, i, last));
}

/* A tip at the edge where a variant's values leave the picture. */
static void draw_tips(const Plot *p, int i) {
    const Band *b = &p->band[i];
    for (int k = 0; k < b->bins; k++) {
        double y = b->mean[k], x = curves_place(p, bin_at(p, i, k));
        bool before = k && b->mean[k - 1] > p->high;
        if (!(y > p->high) || before) continue;
        text_add(p->t, "<path class=\"c%d\" d=\"M%.1f %dl5 8h-10z\"><title>", i % SVG_COLOURS, x,
                 TOP - 10);
        svg_escaped(p->t, p->c->variant[i].label);
        text_add(p->t, ": up to %s</title></path>\n", FIGURES(p->top[i], 4));
    }
}

/* "cut off above 2.7: plain up to 8.12", or "...: all go there, up to 8.12" */
static void add_off(const Plot *p) {
    int lines = p->difference ? p->c->n - 1 : p->c->n, off = 0, done = 0;
    double most = 0;
    for (int i = 0; i < p->c->n; i++)
        if (p->top[i] > p->high) off++, most = fmax(most, p->top[i]);
    if (!off) return;
    text_add(p->t, "<span>cut off above %s: ", FIGURES(p->high, 3));
    bool all = off == lines && off > 2;
    if (all) text_add(p->t, "all go there, up to %s", FIGURES(most, 3));
    for (int i = 0; !all && i < p->c->n; i++) {
        if (!(p->top[i] > p->high)) continue;
        text_add(p->t, "%s", done++ ? ", " : "");
        svg_escaped(p->t, p->c->variant[i].label);
        text_add(p->t, " up to %s", FIGURES(p->top[i], 3));
    }
    text_add(p->t, "</span>");
}

/* The plot's own, of all on the page. */
static int clip_of(const Plot *p) {
    return p->series == SERIES_ROUTED ? 3 : p->difference ? 2 : p->time;
}

static void draw_curves(const Plot *p) {
    text_add(p->t,
             "<clipPath id=\"clip%d\"><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>"
             "</clipPath>\n<g clip-path=\"url(#clip%d)\">\n",
             clip_of(p), p->left, TOP, RIGHT + 6 - p->left, TALL, clip_of(p));
    for (int i = 0; i < p->c->n; i++)
        if (p->band[i].bins) draw_band(p, i);
    for (int i = 0; i < p->c->n; i++) {
        if (p->band[i].bins) draw_line(p, i);
        if (p->difference) draw_whole_difference(p, i);
        else if (p->series == SERIES_LOSS) draw_evaluations(p, i);
    }
    text_add(p->t, "</g>\n");
    for (int i = 0; i < p->c->n; i++)
        draw_tips(p, i);
}

static void add_plot(Plot *p, const char *title) {
    curves_scale(p);
    text_add(p->t, "<figure><figcaption>");
    svg_escaped(p->t, title);
    add_off(p);
    text_add(p->t, "</figcaption>\n");
    svg_begin(p->t, title, WIDTH, HEIGHT);
    curves_draw_axes(p);
    if (p->difference) svg_line(p->t, p->left, height(p, 0), RIGHT, height(p, 0), "flow");
    draw_curves(p);
    text_add(p->t, "</svg></figure>\n");
}

/* == Differences ========================================================== */

/* At every evaluation, over seeds; the baseline has no band. false: no memory. */
static bool open_differences(Plot *p) {
    for (int i = 1; i < p->c->n; i++) {
        const TrainRun *own = p->c->variant[i].run, *base = p->c->variant->run;
        int n = own->evaluations < base->evaluations ? own->evaluations : base->evaluations;
        double *all = calloc(3 * (size_t)n + 1, sizeof *all);
        if (!all) return false;
        p->band[i] = (Band){ all, all + n, all + 2 * n, NULL, n };
        for (int k = 0; k < n; k++) { /* the last stays behind the band */
            Band *b = &p->band[i];
            b->low[k] = INFINITY, b->high[k] = -INFINITY;
            for (int s = 0; s < p->c->seeds; s++) {
                double d = own[s].value[k] - base[s].value[k];
                b->mean[k] += d / p->c->seeds;
                b->low[k] = fmin(b->low[k], d), b->high[k] = fmax(b->high[k], d);
            }
        }
    }
    return true;
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

static void curves_add_difference(const Comparison *c, Text *t) {
    Plot p = { .c = c, .t = t, .difference = true };
    Text title = { 0 };
    text_add(&title, "Validation loss: difference to %s", c->variant->label);
    if (title.failed || !open_differences(&p)) t->failed = true;
    else add_plot(&p, title.at);
    close_bands(&p);
    text_free(&title);
}

static void curves_add_routed(const Comparison *c, Text *t) {
    Plot p = { .c = c, .t = t, .series = SERIES_ROUTED };
    if (!open_bands(&p)) t->failed = true;
    else add_plot(&p, "Tokens that routes take");
    close_bands(&p);
}

void page_curves(const Comparison *c, Text *t) {
    Plot p = { .c = c, .t = t };
    page_variant_keys(c, t);
    text_add(t, "<div class=\"wide\">\n");
    if (!open_bands(&p)) t->failed = true;
    else {
        add_plot(&p, "Loss at equal tokens");
        curves_add_difference(c, t);
        p.time = true, add_plot(&p, "Loss at equal time");
    }
    page_sweep(c, t);
    if (compare_any_routes(c)) curves_add_routed(c, t);
    text_add(t, "</div>\n");
    close_bands(&p);
}
