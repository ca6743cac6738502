/* SPDX-License-Identifier: MIT
** The learning rates that a sweep tried: the final loss of each, by variant, and the rate that was
** chosen.
*/
#include "compare_page.h"
#include "svg.h"

#include <math.h>

enum {
    WIDTH = 480,
    RIGHT = 458,
    TOP = 12,
    TALL = 300,
    HEIGHT = TOP + TALL + 44,
    APART = 44 /* between names of rates */
};

typedef struct SweepPlot {
    const Comparison *c;
    double least, most; /* rates */
    double low, high;   /* losses */
    double tick, left;  /* between losses; of the plot */
    Text *t;
} SweepPlot;

/* Rates differ by factors. */
static double sweep_across(const SweepPlot *p, double rate) {
    return p->left + 14 + (RIGHT - p->left - 28) * log(rate / p->least) / log(p->most / p->least);
}

static const char *rate_text(const Comparison *c, int k, char to[32]) {
    print_text(to, 32, "%.6g", c->rate[k]);
    return to;
}

static double upwards(const SweepPlot *p, double loss) {
    return TOP + TALL * (p->high - loss) / (p->high - p->low);
}

/* What half of a variant's rates end with, or less. */
static double middle(const Comparison *c, const Variant *v) {
    double x[COMPARE_RATES];
    int n = 0;
    for (int k = 0; k < c->rates; k++)
        if (isfinite(v->swept[k])) x[n++] = v->swept[k];
    return stats_median(x, n);
}

/* Rates that are far too high would leave the others no room: they are above the picture. */
static void sweep_scale(SweepPlot *p) {
    const Comparison *c = p->c;
    double top = -INFINITY, middles = -INFINITY;
    p->least = p->low = INFINITY, p->most = -INFINITY;
    for (int k = 0; k < c->rates; k++) {
        p->least = fmin(p->least, c->rate[k]), p->most = fmax(p->most, c->rate[k]);
        for (int i = 0; i < c->n; i++) {
            double loss = c->variant[i].swept[k];
            if (isfinite(loss)) p->low = fmin(p->low, loss), top = fmax(top, loss);
        }
    }
    for (int i = 0; i < c->n; i++)
        middles = fmax(middles, middle(c, &c->variant[i]));
    p->high = fmin(top, p->low + 2 * (middles - p->low));
    double margin = p->high > p->low ? 0.06 * (p->high - p->low) : 0.01;
    p->low -= margin, p->high += margin;
    p->tick = svg_tick(p->high - p->low, 5, false);
    p->left = svg_left(svg_ticks_width(p->low, p->high, p->tick));
}

/* The next rate of the sweep above this one, -1: none is. */
static int next_rate(const Comparison *c, double above) {
    int found = -1;
    for (int k = 0; k < c->rates; k++)
        if (c->rate[k] > above && (found < 0 || c->rate[k] < c->rate[found])) found = k;
    return found;
}

static void sweep_draw_axes(const SweepPlot *p) {
    double last = -APART;
    char text[32];
    for (double y = p->tick * ceil(p->low / p->tick); y <= p->high; y += p->tick) {
        svg_tick_text(text, y, p->tick);
        svg_line(p->t, p->left, upwards(p, y), RIGHT, upwards(p, y), "line");
        svg_text(p->t, p->left - 8, upwards(p, y) + 4, "soft", "end", 12, text);
    }
    svg_line(p->t, p->left, TOP + TALL, RIGHT, TOP + TALL, "flow");
    for (int k = next_rate(p->c, 0); k >= 0; k = next_rate(p->c, p->c->rate[k])) {
        double x = sweep_across(p, p->c->rate[k]);
        svg_line(p->t, x, TOP + TALL, x, TOP + TALL + 5, "flow");
        if (x - last < APART) continue; /* there is no room for its name */
        rate_text(p->c, k, text);
        svg_text(p->t, x, TOP + TALL + 19, "soft", "middle", 12, text);
        last = x;
    }
    svg_text(p->t, (p->left + RIGHT) / 2, TOP + TALL + 38, "soft", "middle", 60, "learning rate");
    svg_vertical(p->t, SVG_NAME, TOP + TALL / 2.0, "loss at the end, nats per token");
}

static void sweep_draw_dot(const SweepPlot *p, int variant, int k) {
    const Variant *v = &p->c->variant[variant];
    bool best = v->lr == p->c->rate[k];
    bool above = v->swept[k] > p->high;
    double x = sweep_across(p, p->c->rate[k]), y = above ? 0 : upwards(p, v->swept[k]);
    char rate[32];
    if (best)
        text_add(p->t,
                 "<circle fill=\"none\" style=\"stroke:var(--c%d);stroke-width:2\" r=\"7\" "
                 "cx=\"%.1f\" cy=\"%.1f\"/>\n",
                 variant % SVG_COLOURS, x, y);
    if (above)
        text_add(p->t, "<path class=\"c%d\" d=\"M%.1f %dl5 8h-10z\"><title>", variant % SVG_COLOURS,
                 x, TOP - 10);
    else
        text_add(p->t, "<circle class=\"c%d\" r=\"3.5\" cx=\"%.1f\" cy=\"%.1f\"><title>",
                 variant % SVG_COLOURS, x, y);
    svg_escaped(p->t, v->label);
    text_add(p->t, ", rate %s: %.4f%s</title></%s>\n", rate_text(p->c, k, rate), v->swept[k],
             best ? ", its best" : "", above ? "path" : "circle");
}

static void draw_line(const SweepPlot *p, int variant) {
    const Variant *v = &p->c->variant[variant];
    bool begun = false;
    text_add(p->t,
             "<path clip-path=\"url(#clip-sweep)\" fill=\"none\" "
             "style=\"stroke:var(--c%d);stroke-width:1.8\" stroke-dasharray=\"%s\" d=\"",
             variant % SVG_COLOURS, page_dash(variant));
    for (int k = next_rate(p->c, 0); k >= 0; k = next_rate(p->c, p->c->rate[k])) {
        bool there = isfinite(v->swept[k]);
        if (there)
            text_add(p->t, "%c%.1f %.1f", begun ? 'L' : 'M', sweep_across(p, p->c->rate[k]),
                     upwards(p, v->swept[k]));
        begun = there;
    }
    text_add(p->t, "\"/>\n");
}

static void draw_dots(const SweepPlot *p, int variant) {
    for (int k = 0; k < p->c->rates; k++)
        if (isfinite(p->c->variant[variant].swept[k])) sweep_draw_dot(p, variant, k);
}

/* "; haares at 3" of rates whose loss is none, or is above the picture */
static void add_named(const SweepPlot *p, bool diverged, const char *words) {
    const Comparison *c = p->c;
    int some = 0;
    for (int i = 0; i < c->n; i++) {
        const Variant *v = &c->variant[i];
        bool of = false;
        for (int k = next_rate(c, 0); k >= 0; k = next_rate(c, c->rate[k])) {
            char rate[32];
            if (diverged ? isfinite(v->swept[k]) : !isfinite(v->swept[k]) || v->swept[k] <= p->high)
                continue;
            text_add(p->t, "%s", some++ ? ", " : words);
            if (!of) svg_escaped(p->t, v->label), text_add(p->t, " at ");
            of = true;
            text_add(p->t, "%s", rate_text(c, k, rate));
        }
    }
}

void page_sweep(const Comparison *c, Text *t) {
    SweepPlot p = { .c = c, .t = t };
    if (!c->rates) return;
    sweep_scale(&p);
    text_add(t,
             "<figure><figcaption>Loss at each learning rate<span>after the last step from the "
             "first seed; in a ring: the rate that was taken for all seeds");
    add_named(&p, false, "; above the picture: ");
    add_named(&p, true, "; diverged: ");
    text_add(t, "</span></figcaption>\n");
    svg_begin(t, "Loss at each learning rate", WIDTH, HEIGHT);
    sweep_draw_axes(&p);
    text_add(t,
             "<clipPath id=\"clip-sweep\"><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
             "height=\"%d\"/></clipPath>\n",
             p.left, TOP, RIGHT + 6 - p.left, TALL);
    for (int i = 0; i < c->n; i++)
        draw_line(&p, i);
    for (int i = 0; i < c->n; i++)
        draw_dots(&p, i);
    text_add(t, "</svg></figure>\n");
}
