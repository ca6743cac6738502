/* SPDX-License-Identifier: MIT
** Cost and benefit of variants in one picture: time per step to the right, loss at the end
** upwards.  The baseline is at its own numbers, between dashed lines.  Other variants are placed
** by their paired differences, with their intervals, so that a bar that crosses a dashed line is a
** difference that was not detected.
*/
#include "compare_page.h"
#include "label_place.h"
#include "svg.h"

#include <math.h>

enum {
    WIDTH = 520,
    RIGHT = 500,
    TOP = 14,
    TALL = 320,
    HEIGHT = TOP + TALL + 44,
    LETTER = 12,
    DOT = 5
};

/* A value with its interval; low > high: none is known. */
typedef struct Whisker {
    double at, low, high;
} Whisker;

/* A direction of the picture. */
typedef struct Scale {
    double low, high, tick;
    double from, to; /* pixels */
} Scale;

typedef struct Scatter {
    const Comparison *c;
    Whisker time[COMPARE_MOST], loss[COMPARE_MOST];
    double unit; /* of times: 1, or 1000 for milliseconds */
    Scale across, up;
    LabelBoxes boxes;
    Text *t;
} Scatter;

/* == Values =============================================================== */

/* Of a step; where nothing was measured, of the runs' logs. */
static double scatter_step_seconds(const Comparison *c, const Variant *v) {
    double sum = 0;
    if (c->rounds) return stats_median(v->timing.seconds, c->rounds);
    for (int s = 0; s < c->seeds; s++)
        sum += compare_seconds(c, v, &v->run[s], c->steps) / c->steps;
    return sum / c->seeds;
}

static Whisker moved(double base, const Estimate *e, bool ratio) {
    double unit = ratio ? base : 1;
    Whisker s = { base + unit * e->mean, base + unit * e->low, base + unit * e->high };
    if (!e->known) s.low = 1, s.high = 0;
    return s;
}

static void take_values(Scatter *p) {
    const Comparison *c = p->c;
    double base_time = scatter_step_seconds(c, c->variant),
           base_loss = compare_trained(c, c->variant).end.mean;
    p->unit = base_time < 1 ? 1e3 : 1;
    for (int i = 0; i < c->n; i++) {
        Estimate loss = compare_difference_of(c, &c->variant[i], FAMILY_LOSS),
                 time = compare_difference_of(c, &c->variant[i], FAMILY_TIME);
        if (!c->rounds) time.mean = scatter_step_seconds(c, &c->variant[i]) / base_time - 1;
        p->time[i] = moved(base_time * p->unit, &time, true);
        p->loss[i] = moved(base_loss, &loss, false);
    }
}

/* An interval that goes far beyond all values would press them together: it is cut off. */
static Scale scale_of(const Whisker *s, int n, double from, double to, int ticks) {
    double low = INFINITY, high = -INFINITY, least = INFINITY, most = -INFINITY;
    for (int i = 0; i < n; i++) {
        low = fmin(low, s[i].at), high = fmax(high, s[i].at);
        if (s[i].low > s[i].high) continue;
        least = fmin(least, s[i].low), most = fmax(most, s[i].high);
    }
    double room = fmax(1.2 * (high - low), 0.35 * fmax(most - least, 0));
    low = fmin(low, fmax(least, low - room)), high = fmax(high, fmin(most, high + room));
    double margin = high > low ? 0.08 * (high - low) : fmax(0.05 * fabs(high), 1e-3);
    return (Scale){ low - margin, high + margin, svg_tick(high - low + 2 * margin, ticks, false),
                    from, to };
}

static double pixel(const Scale *s, double value) {
    return s->from + (s->to - s->from) * (value - s->low) / (s->high - s->low);
}

static double inside(const Scale *s, double value) { return fmin(fmax(value, s->low), s->high); }

/* == The picture ========================================================== */

static void scatter_draw_axes(const Scatter *p) {
    char text[32];
    const Scale *x = &p->across, *y = &p->up;
    for (double v = y->tick * ceil(y->low / y->tick); v <= y->high; v += y->tick) {
        svg_line(p->t, x->from, pixel(y, v), RIGHT, pixel(y, v), "line");
        svg_text(p->t, x->from - 8, pixel(y, v) + 4, "soft", "end", 12,
                 svg_tick_text(text, v, y->tick));
    }
    for (double v = x->tick * ceil(x->low / x->tick); v <= x->high; v += x->tick) {
        svg_line(p->t, pixel(x, v), TOP + TALL, pixel(x, v), TOP + TALL + 5, "flow");
        svg_text(p->t, pixel(x, v), TOP + TALL + 19, "soft", "middle", 12,
                 svg_tick_text(text, v, x->tick));
    }
    svg_line(p->t, x->from, TOP + TALL, RIGHT, TOP + TALL, "flow");
    svg_text(p->t, (x->from + RIGHT) / 2, TOP + TALL + 38, "soft", "middle", 60,
             p->unit > 1 ? "time per training step, ms" : "time per training step, s");
    svg_vertical(p->t, SVG_NAME, TOP + TALL / 2.0, "validation loss at the end, nats per token");
}

static void draw_baseline(Scatter *p) {
    double x = pixel(&p->across, p->time[0].at), y = pixel(&p->up, p->loss[0].at);
    svg_line(p->t, x, TOP, x, TOP + TALL, "edge");
    svg_line(p->t, p->across.from, y, RIGHT, y, "edge");
    boxes_add(&p->boxes, (LabelBox){ x - 1, TOP, x + 1, TOP + TALL });
    boxes_add(&p->boxes, (LabelBox){ p->across.from, y - 1, RIGHT, y + 1 });
}

/* A bar ends with a stroke, unless it goes on outside of the picture. */
static void scatter_draw_bar(Scatter *p, int i, bool along) {
    const Whisker *s = along ? &p->time[i] : &p->loss[i];
    const Scale *scale = along ? &p->across : &p->up;
    double other = along ? pixel(&p->up, p->loss[i].at) : pixel(&p->across, p->time[i].at);
    if (i == 0 || s->low > s->high) return;
    double from = pixel(scale, inside(scale, s->low)), to = pixel(scale, inside(scale, s->high));
    text_add(p->t, "<path fill=\"none\" style=\"stroke:var(--c%d);stroke-width:1.6\" d=\"",
             i % SVG_COLOURS);
    text_add(p->t, along ? "M%.1f %.1fH%.1f" : "M%.1f %.1fV%.1f", along ? from : other,
             along ? other : from, to);
    for (int end = 0; end < 2; end++) {
        double value = end ? s->high : s->low, at = pixel(scale, value);
        if (inside(scale, value) != value) continue;
        text_add(p->t, along ? "M%.1f %.1fv8" : "M%.1f %.1fh8", along ? at : other - 4,
                 along ? other - 4 : at);
    }
    text_add(p->t, "\"/>\n");
    double low = fmin(from, to), high = fmax(from, to);
    boxes_add(&p->boxes,
              along ? (LabelBox){ low, other - 4, high, other + 4 }
                    : (LabelBox){ other - 4, low, other + 4, high });
}

static void scatter_draw_dot(const Scatter *p, int i) {
    const Whisker *x = &p->time[i], *y = &p->loss[i];
    char step[32];
    text_add(p->t, "<circle class=\"c%d\" r=\"%d\" cx=\"%.1f\" cy=\"%.1f\"><title>",
             i % SVG_COLOURS, DOT, pixel(&p->across, x->at), pixel(&p->up, y->at));
    svg_escaped(p->t, p->c->variant[i].label);
    text_add(p->t, ": loss %.4f, a step %s</title></circle>\n", y->at,
             compare_number(step, UNIT_SECONDS, x->at / p->unit));
}

/* A name that finds no place is in the list of colours above. */
static void draw_name(Scatter *p, int i) {
    const char *label = p->c->variant[i].label;
    double x = pixel(&p->across, p->time[i].at), y = pixel(&p->up, p->loss[i].at);
    LabelBox at;
    if (!label_place(&p->boxes, x, y, svg_width(label, LETTER), LETTER + 2, &at)) return;
    svg_text(p->t, (at.left + at.right) / 2, at.bottom - 4, "soft", "middle",
             (int)sizeof p->c->variant->label, label);
}

static void draw(Scatter *p) {
    int n = p->c->n;
    svg_begin(p->t, "loss against time per step", WIDTH, HEIGHT);
    scatter_draw_axes(p);
    draw_baseline(p);
    for (int i = 0; i < n; i++) {
        double x = pixel(&p->across, p->time[i].at), y = pixel(&p->up, p->loss[i].at);
        boxes_add(&p->boxes, (LabelBox){ x - DOT - 1, y - DOT - 1, x + DOT + 1, y + DOT + 1 });
        scatter_draw_bar(p, i, true), scatter_draw_bar(p, i, false);
    }
    for (int i = n; i-- > 0;)
        scatter_draw_dot(p, i);
    for (int i = 0; i < n; i++)
        draw_name(p, i);
    text_add(p->t, "</svg>");
}

static void add_caption(const Scatter *p) {
    const Comparison *c = p->c;
    text_add(p->t, "<figure class=\"scatter\"><figcaption>Loss against time per step<span>");
    text_add(p->t, "lower and further left is better; dashed: ");
    svg_escaped(p->t, c->variant->label);
    if (c->seeds > 1 || c->rounds > 1)
        text_add(p->t,
                 "; bars: 95 %% intervals of the differences from it, each by itself: one that "
                 "crosses a dashed line is no difference that was detected");
    if (!c->rounds) text_add(p->t, "; times are those of the runs, not measured in turns");
    text_add(p->t, "</span></figcaption>\n");
}

void page_scatter(const Comparison *c, Text *t) {
    Scatter p = { .c = c, .t = t };
    if (!c->text) return;
    take_values(&p);
    p.up = scale_of(p.loss, c->n, TOP + TALL, TOP, 6);
    double left = svg_left(svg_ticks_width(p.up.low, p.up.high, p.up.tick));
    p.across = scale_of(p.time, c->n, left, RIGHT, 6);
    p.boxes.edge = (LabelBox){ left, TOP, RIGHT, TOP + TALL };
    page_variant_keys(c, t);
    add_caption(&p);
    draw(&p);
    text_add(t, "</figure>\n");
}
