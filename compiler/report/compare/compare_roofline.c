/* SPDX-License-Identifier: MIT
** Roofline: the speed of a training step's kernels beside the machine's limits.  The horizontal
** axis is FLOPs per byte moved, the vertical one GFLOP/s, both logarithmic.  The roof is memory
** bandwidth times FLOPs per byte, up to the machine's peak.  A dot is a kind of kernel of a
** variant; its size is the share of the time.
*/
#include "compare_page.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 480, LEFT = 76, RIGHT = 468, TOP = 16, TALL = 320, HEIGHT = TOP + TALL + 44 };

typedef struct Roof {
    const Comparison *c;
    double peak, bandwidth;        /* of the machine, 1e9 a second */
    double left, right, low, high; /* powers of ten */
    Text *t;
} Roof;

typedef struct Dot {
    double intensity, rate, seconds;
} Dot;

/* false: nothing is known, or nothing was computed. */
static bool dot_of(const Comparison *c, const Role *r, int variant, Dot *d) {
    const RoleWork *w = &r->of[variant];
    const Work *own = &w->work[TRAINING];
    *d = (Dot){ own->flops / own->bytes,
                1e-9 * own->flops * c->variant[variant].timing.tokens / w->seconds, w->seconds };
    return w->kernels && isfinite(d->rate) && d->rate > 0 && isfinite(d->intensity)
        && d->intensity > 0;
}

static double roofline_across(const Roof *f, double intensity) {
    return LEFT + (RIGHT - LEFT) * (log10(intensity) - f->left) / (f->right - f->left);
}

static double upwards(const Roof *f, double rate) {
    return TOP + TALL * (f->high - log10(rate)) / (f->high - f->low);
}

static void roofline_scale(Roof *f, const Role *role, int n) {
    double ridge = log10(f->peak / f->bandwidth);
    f->left = fmin(-1, floor(ridge)), f->right = fmax(2, ceil(ridge));
    f->low = floor(log10(f->peak)) - 2, f->high = ceil(log10(f->peak) + 0.1);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < f->c->n; i++) {
            Dot d;
            if (!dot_of(f->c, &role[k], i, &d)) continue;
            f->left = fmin(f->left, floor(log10(d.intensity))),
            f->right = fmax(f->right, ceil(log10(d.intensity)));
            f->low = fmin(f->low, floor(log10(d.rate))),
            f->high = fmax(f->high, ceil(log10(d.rate)));
        }
}

static void roofline_draw_axes(const Roof *f) {
    char text[32];
    for (double p = f->low; p <= f->high; p++) {
        double y = upwards(f, pow(10, p));
        print_figures(text, pow(10, p), 6);
        svg_line(f->t, LEFT, y, RIGHT, y, "line");
        svg_text(f->t, LEFT - 8, y + 4, "soft", "end", 12, text);
    }
    for (double p = f->left; p <= f->right; p++) {
        double x = roofline_across(f, pow(10, p));
        print_figures(text, pow(10, p), 6);
        svg_line(f->t, x, TOP, x, TOP + TALL, "line");
        svg_text(f->t, x, TOP + TALL + 17, "soft", p == f->right ? "end" : "middle", 12, text);
    }
    svg_text(f->t, (LEFT + RIGHT) / 2.0, TOP + TALL + 38, "soft", "middle", 60,
             "FLOPs per byte of operands and results");
    svg_vertical(f->t, SVG_NAME, TOP + TALL / 2.0, "GFLOP/s");
}

/* Cut where it leaves the picture at the left or below. */
static void draw_roof(const Roof *f) {
    double ridge = f->peak / f->bandwidth,
           from = fmax(pow(10, f->left), pow(10, f->low) / f->bandwidth);
    text_add(f->t,
             "<path fill=\"none\" style=\"stroke:var(--ink);stroke-width:1.6\" d=\"M%.1f %.1fL%.1f "
             "%.1fH%d\"/>\n",
             roofline_across(f, from), upwards(f, from * f->bandwidth), roofline_across(f, ridge),
             upwards(f, f->peak), RIGHT);
}

static void roofline_draw_dot(const Roof *f, const Role *r, int variant, double whole) {
    Dot d;
    if (!dot_of(f->c, r, variant, &d)) return;
    text_add(
        f->t,
        "<circle class=\"c%d\" fill-opacity=\".75\" r=\"%.1f\" cx=\"%.1f\" cy=\"%.1f\"><title>",
        variant % SVG_COLOURS, 3 + 14 * sqrt(d.seconds / whole), roofline_across(f, d.intensity),
        upwards(f, d.rate));
    svg_escaped(f->t, r->name);
    text_add(f->t, " of ");
    svg_escaped(f->t, f->c->variant[variant].label);
    text_add(f->t, ": %s GFLOP/s, %s FLOPs per byte</title></circle>\n", FIGURES(d.rate, 4),
             FIGURES(d.intensity, 3));
}

static void draw_dots(const Roof *f, const Role *role, int n) {
    double whole = 0;
    for (int i = 0; i < f->c->n; i++)
        whole = fmax(whole, stats_median(f->c->variant[i].timing.seconds, f->c->rounds));
    for (int k = 0; k < n; k++)
        for (int i = 0; i < f->c->n; i++)
            roofline_draw_dot(f, &role[k], i, whole);
}

void page_roofline(const Comparison *c, Text *t) {
    Roof f = { .c = c, .t = t };
    int n;
    if (!c->rounds) return;
    Role *role = compare_roles(c, &n);
    for (int i = 0; i < c->n; i++)
        f.peak += 1e-9 * c->variant[i].timing.peak / c->n,
            f.bandwidth += 1e-9 * c->variant[i].timing.bandwidth / c->n;
    if (!role) t->failed = true;
    if (role && f.peak > 0 && f.bandwidth > 0) {
        page_heading(t, "Roofline",
                     "A dot is a kind of kernel, larger where it takes more of a step's time. The "
                     "line is what this machine could do, as bench "
                     "measured it; kernels whose operands lie in cache may be above its slope.");
        page_variant_keys(c, t);
        text_add(t,
                 "<figure style=\"max-width:560px\"><figcaption><span>the line: %s GFLOP/s, "
                 "%s GB/s</span></figcaption>\n",
                 FIGURES(f.peak, 3), FIGURES(f.bandwidth, 3));
        roofline_scale(&f, role, n);
        svg_begin(t, "roofline", WIDTH, HEIGHT);
        roofline_draw_axes(&f);
        draw_roof(&f);
        draw_dots(&f, role, n);
        text_add(t, "</svg></figure>\n");
    }
    free(role);
}
