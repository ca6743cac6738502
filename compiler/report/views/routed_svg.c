/* SPDX-License-Identifier: MIT
** How much work and cache remain with routes, as a picture of two panels: work relative to the
** dense twin over length on a logarithmic axis, and the bytes of a sequence's keys and values over
** length.  A colour stands for a share, a dash pattern for a way to count.
*/
#include "routed.h"
#include "views.h"
#include "svg.h"

#include <math.h>

enum { LEFT = 74, RIGHT = 622, TOP = 128, TALL = 240, BETWEEN = 96, BELOW = 56, POINTS = 64 };

/* What is drawn of a share in a panel; NAN: nothing. */
typedef double DrawnValue(const Report *r, int counting, int64_t length, double share);

typedef struct SharePanel {
    const Report *r;
    double top, most; /* of the values, which begin at 0 */
    double shortest, longest;
    bool logarithmic;
    DrawnValue *value;
    Text *t;
} SharePanel;

static const struct {
    const char *name, *dash;
} countings[COUNTINGS] = {
    { "published, 2-byte values", "7 4" },
    { "executed, float32", "none" },
    { "a training step", "2 3" },
};

static double relative_work(const Report *r, int counting, int64_t length, double share) {
    return routed_cost(r, length, share).flops_of_dense[counting];
}

static double cache(const Report *r, int counting, int64_t length, double share) {
    if (counting == COUNT_TRAINING) return NAN;
    return routed_cache(r, counting == COUNT_PUBLISHED ? PUBLISHED_BYTES : HELD_BYTES, length,
                        share)
        / 1e6;
}

static double routed_svg_across(const SharePanel *p, double length) {
    double part = p->logarithmic ? log(length / p->shortest) / log(p->longest / p->shortest)
                                 : length / p->longest;
    return LEFT + (RIGHT - LEFT) * part;
}

static double up(const SharePanel *p, double value) {
    return p->top + TALL * (1 - value / p->most);
}

/* == Axes ================================================================= */

static void mark_length(const SharePanel *p, double length) {
    char text[32];
    double x = routed_svg_across(p, length);
    svg_line(p->t, x, p->top + TALL, x, p->top + TALL + 5, "flow");
    print_text(text, sizeof text, "%.0f", length);
    svg_text(p->t, x, p->top + TALL + 20, "soft", "middle", 20, text);
}

/* Doubling on a logarithmic axis, every other one where there are many. */
static void mark_lengths(const SharePanel *p) {
    if (!p->logarithmic) {
        double tick = fmax(svg_tick(p->longest, 5, false), 1);
        for (double length = 0; length <= p->longest; length += tick)
            mark_length(p, length);
        return;
    }
    double step = log2(p->longest / p->shortest) > 9 ? 4 : 2;
    for (double length = p->shortest; length <= p->longest * 1.0001; length *= step)
        mark_length(p, length);
}

static void mark_values(const SharePanel *p) {
    double tick = svg_tick(p->most, 6, false);
    for (int i = 0; i * tick <= p->most * 1.0001; i++) {
        char text[32];
        double y = i * tick;
        print_figures(text, y, 6);
        svg_line(p->t, LEFT, up(p, y), RIGHT, up(p, y), "line");
        svg_text(p->t, LEFT - 8, up(p, y) + 4, "soft", "end", 20, text);
    }
}

static void routed_svg_draw_axes(const SharePanel *p, const char *title, const char *name) {
    svg_text(p->t, LEFT, p->top - 14, "name", "start", 90, title);
    mark_values(p);
    svg_line(p->t, LEFT, p->top + TALL, RIGHT, p->top + TALL, "flow");
    mark_lengths(p);
    svg_text(p->t, (LEFT + RIGHT) / 2.0, p->top + TALL + 38, "soft", "middle", 80,
             "tokens of the sequence");
    svg_vertical(p->t, 14, p->top + TALL / 2.0, name);
}

/* == Curves =============================================================== */

static double length_of(const SharePanel *p, int i) {
    double part = (double)i / (POINTS - 1);
    double length = p->logarithmic ? p->shortest * pow(p->longest / p->shortest, part)
                                   : p->longest * part;
    return fmax(round(length), 1);
}

static void draw_curve(const SharePanel *p, const Report *r, const char *class, int counting,
                       double share) {
    if (!isfinite(p->value(r, counting, (int64_t)p->longest, share))) return;
    text_add(p->t, "<path class=\"curve %s\" stroke-dasharray=\"%s\" d=\"", class,
             countings[counting].dash);
    for (int i = 0; i < POINTS; i++) {
        double length = length_of(p, i), y = p->value(r, counting, (int64_t)length, share);
        text_add(p->t, "%c%.1f %.1f", i ? 'L' : 'M', routed_svg_across(p, length), up(p, y));
    }
    text_add(p->t, "\"/>\n");
}

static void draw_curves(const SharePanel *p) {
    const RoutedOptions *o = &p->r->asked;
    for (int s = 0; s < o->shares; s++)
        for (int i = 0; i < COUNTINGS; i++) {
            char class[8];
            print_text(class, sizeof class, "s%d", s % SVG_COLOURS);
            draw_curve(p, p->r, class, i, o->share[s]);
        }
}

/* == Keys ================================================================= */

static double draw_dash(Text *t, double x, double y, int counting) {
    text_add(t, "<path class=\"curve plain\" stroke-dasharray=\"%s\" d=\"M%.1f %.1fh28\"/>\n",
             countings[counting].dash, x, y - 4);
    svg_text(t, x + 34, y, "soft", "start", 40, countings[counting].name);
    return x + 34 + 200;
}

static void routed_svg_draw_keys(const Report *r, Text *t) {
    double x = 16;
    for (int s = 0; s < r->asked.shares; s++) {
        char name[96];
        routed_share_text(r, r->asked.share[s], name, sizeof name);
        if (r->asked.shares > 2)
            print_text(name, sizeof name, "%s %%", FIGURES(100 * r->asked.share[s], 4));
        x = svg_key(t, x, 52, s, name);
    }
    if (r->asked.shares > 2) svg_text(t, x, 52, "soft", "start", 30, "of the tokens"), x += 100;
    text_add(t, "<path class=\"curve plain\" d=\"M%.1f 48h28\"/>\n", x);
    svg_text(t, x + 34, 52, "soft", "start", 40, "without routes");
    x = 16;
    for (int i = 0; i < (r->training ? COUNTINGS : COUNT_TRAINING); i++)
        x = draw_dash(t, x, 76, i);
}

/* == The picture ========================================================== */

static double routed_svg_longest(const RoutedOptions *o) {
    double most = 0;
    for (int i = 0; i < o->lengths; i++)
        most = fmax(most, (double)o->length[i]);
    return most;
}

static double shortest(const RoutedOptions *o) {
    double least = INFINITY;
    for (int i = 0; i < o->lengths; i++)
        least = fmin(least, (double)o->length[i]);
    return least;
}

static double most_work(const Report *r) {
    double most = 1;
    for (int s = 0; s < r->asked.shares; s++)
        for (int i = 0; i < r->asked.lengths; i++)
            for (int k = 0; k < COUNTINGS; k++) {
                double y = relative_work(r, k, r->asked.length[i], r->asked.share[s]);
                if (isfinite(y)) most = fmax(most, y);
            }
    return 1.04 * most;
}

/* Panels of work and of caches, as far as there are any. */
typedef struct RoutedPanels {
    SharePanel work, held;
    bool caches;
} RoutedPanels;

static RoutedPanels panels_of(const Report *r, Text *t) {
    double from = shortest(&r->asked), to = routed_svg_longest(&r->asked);
    if (from == to) from = fmax(to / 16, 1), to = fmax(to, 2);
    RoutedPanels p = { { r, TOP, most_work(r), from, to, true, relative_work, t },
                       { r, TOP + TALL + BETWEEN, 0, from, to, false, cache, t },
                       false };
    p.held.most = 1.04 * cache(r->dense, COUNT_EXECUTED, (int64_t)to, NAN);
    p.caches = isfinite(cache(r, COUNT_EXECUTED, 1, NAN)) && p.held.most > 0;
    return p;
}

double report_routed_height(const Report *r) {
    RoutedPanels p = panels_of(r, NULL);
    return (p.caches ? p.held.top : p.work.top) + TALL + BELOW;
}

void report_routed_picture(const Report *r, Text *t) {
    RoutedPanels p = panels_of(r, t);
    svg_text(t, 16, 26, "title", "start", 70, "What routes leave");
    routed_svg_draw_keys(r, t);
    routed_svg_draw_axes(&p.work, "FLOPs", "share of the model's without routes");
    svg_line(t, LEFT, up(&p.work, 1), RIGHT, up(&p.work, 1), "curve plain");
    draw_curves(&p.work);
    if (!p.caches) return;
    routed_svg_draw_axes(&p.held, "Keys and values of a sequence", "MB");
    for (int i = 0; i < COUNT_TRAINING; i++)
        draw_curve(&p.held, r->dense, "plain", i, NAN);
    draw_curves(&p.held);
}
