/* SPDX-License-Identifier: MIT
** Heat maps and line charts.  Cells of a row that share a shade are one rectangle. */
#include "chart.h"

#include <math.h>
#include <stdlib.h>

enum {
    LEVELS = 24,
    LEFT = 52,
    EDGE = 334,
    TOP = 10,
    BELOW = 44,
    TALL = 220,
    RIGHT = CHART_WIDTH - 12
};

/* == Heat maps ============================================================ */

/* -LEVELS … LEVELS */
static int shade(const HeatMap *m, int r, int c) {
    double value = m->value[(int64_t)r * m->columns + c], part = fmin(fabs(value) / m->scale, 1);
    return isfinite(value) ? (int)lround(copysign(LEVELS * (m->root ? sqrt(part) : part), value))
                           : 0;
}

static void begin_shade(int level, Text *t) {
    text_add(t, "<path class=\"c%d\" fill-opacity=\"%.3f\" d=\"", level < 0 ? 0 : 5,
             fabs((double)level) / LEVELS);
}

static void draw_shade(const HeatMap *m, int level, Text *t) {
    bool open = false;
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns;) {
            int from = c++;
            if (shade(m, r, from) != level) continue;
            while (c < m->columns && shade(m, r, c) == level)
                c++;
            if (!open) begin_shade(level, t);
            open = true;
            text_add(t, "M%d %dh%dv1h-%dz", from, r, c - from, c - from);
        }
    if (open) text_add(t, "\"/>\n");
}

static void draw_numbers(const HeatMap *m, double cell, double bottom, Text *t) {
    int across = (int)fmax(svg_tick(m->columns, 8, false), 1),
        down = (int)fmax(svg_tick(m->rows, 8, false), 1);
    char text[16];
    for (int i = 0; i < m->columns; i += across) {
        print_text(text, sizeof text, "%d", i);
        svg_text(t, LEFT + (i + 0.5) * cell, bottom + 16, "soft", "middle", 8, text);
    }
    for (int i = 0; i < m->rows; i += down) {
        print_text(text, sizeof text, "%d", i);
        svg_text(t, LEFT - 6, TOP + (i + 0.5) * cell + 4, "soft", "end", 8, text);
    }
    svg_text(t, LEFT + m->columns * cell / 2, bottom + 36, "soft", "middle", 60, m->across);
    svg_vertical(t, 14, TOP + m->rows * cell / 2, m->down);
}

void chart_heat_map(const HeatMap *m, Text *t) {
    double cell = (double)EDGE / (m->columns > m->rows ? m->columns : m->rows),
           bottom = TOP + m->rows * cell;
    svg_begin(t, m->label, CHART_WIDTH, bottom + BELOW);
    text_add(t, "<g shape-rendering=\"crispEdges\" transform=\"translate(%d %d)scale(%.5f)\">\n",
             LEFT, TOP, cell);
    for (int level = -LEVELS; level <= LEVELS; level++)
        if (level) draw_shade(m, level, t);
    text_add(t, "</g>\n<path class=\"line\" d=\"M%d %dv%.1fh%.1f\"/>\n", LEFT, TOP, m->rows * cell,
             m->columns * cell);
    draw_numbers(m, cell, bottom, t);
    text_add(t, "</svg>\n");
}

void chart_scale(double scale, bool root, Text *t) {
    double width = (double)EDGE / (2 * LEVELS + 1);
    char number[32];
    svg_begin(t, "colour scale", CHART_WIDTH, 36);
    for (int i = -LEVELS; i <= LEVELS; i++)
        text_add(t,
                 "<rect x=\"%.2f\" y=\"2\" width=\"%.2f\" height=\"12\" class=\"c%d\" "
                 "fill-opacity=\"%.3f\"/>\n",
                 LEFT + width * (i + LEVELS), width + 0.1, i < 0 ? 0 : 5, fabs((double)i) / LEVELS);
    for (int i = -2; i <= 2; i++) { /* half of the colours are a quarter of a square root's scale */
        double value = scale * (root ? i * i / 4.0 : abs(i) / 2.0);
        print_text(number, sizeof number, "%s%.3g", i < 0 ? "\xe2\x88\x92" : "", value);
        svg_text(t, LEFT + width * (LEVELS + 0.5 + i * LEVELS / 2.0), 30, "soft", "middle", 20,
                 number);
    }
    text_add(t, "</svg>\n");
}

/* == Lines ================================================================ */

typedef struct AxisRange {
    double low, high;
} AxisRange;

static AxisRange range_of(const LineChart *c) {
    AxisRange r = { INFINITY, -INFINITY };
    for (int s = 0; s < c->nseries; s++)
        for (int i = 0; i < c->count; i++) {
            double y = c->series[s][i];
            if (isfinite(y)) r.low = fmin(r.low, y), r.high = fmax(r.high, y);
        }
    if (!(r.low <= r.high)) r = (AxisRange){ 0, 1 };
    if (c->zero) r.low = fmin(r.low, 0);
    double margin = fmax(0.05 * (r.high - r.low), 1e-9 + 1e-3 * fabs(r.high));
    if (!c->zero || r.low < 0) r.low -= margin;
    r.high += margin;
    return r;
}

static double place(const LineChart *c, double i) {
    return LEFT + (i + 0.5) * (RIGHT - LEFT) / c->count;
}

static double height(AxisRange r, double y) { return TOP + TALL * (r.high - y) / (r.high - r.low); }

static void draw_axes(const LineChart *c, AxisRange r, Text *t) {
    double up = svg_tick(r.high - r.low, 6, false);
    int across = (int)fmax(svg_tick(c->count, 8, false), 1);
    char text[32];
    for (double y = up * ceil(r.low / up); y <= r.high; y += up) {
        print_text(text, sizeof text, "%.4g", fabs(y) < up * 1e-6 ? 0 : y);
        svg_line(t, LEFT, height(r, y), RIGHT, height(r, y), "line");
        svg_text(t, LEFT - 7, height(r, y) + 4, "soft", "end", 12, text);
    }
    for (int i = 0; i < c->count; i += across) {
        print_text(text, sizeof text, "%d", i);
        svg_line(t, place(c, i), TOP + TALL, place(c, i), TOP + TALL + 5, "flow");
        svg_text(t, place(c, i), TOP + TALL + 19, "soft", "middle", 12, text);
    }
    svg_line(t, LEFT, TOP + TALL, RIGHT, TOP + TALL, "flow");
    svg_text(t, (LEFT + RIGHT) / 2.0, TOP + TALL + 38, "soft", "middle", 60, c->across);
    svg_vertical(t, 14, TOP + TALL / 2.0, c->up);
}

static void draw_series(const LineChart *c, int s, AxisRange r, Text *t) {
    static const int colour[] = { 5, 0, 2, 3 };
    const double *y = c->series[s];
    int class = colour[s % 4];
    text_add(t, "<path fill=\"none\" style=\"stroke:var(--c%d);stroke-width:1.8\"%s d=\"", class,
             s ? " stroke-dasharray=\"6 3\"" : "");
    for (int i = 0; i < c->count; i++)
        if (isfinite(y[i]))
            text_add(t, "%c%.1f %.1f", i && isfinite(y[i - 1]) ? 'L' : 'M', place(c, i),
                     height(r, y[i]));
    text_add(t, "\"/>\n");
    for (int i = 0; i < c->count; i++)
        if (isfinite(y[i]))
            text_add(t,
                     "<circle class=\"c%d\" r=\"2.6\" cx=\"%.1f\" cy=\"%.1f\"><title>%d: "
                     "%.5g</title></circle>\n",
                     class, place(c, i), height(r, y[i]), i, y[i]);
}

/* Names stand below, each with a piece of its line. */
static void draw_names(const LineChart *c, Text *t) {
    static const int colour[] = { 5, 0, 2, 3 };
    double x = LEFT;
    for (int s = 0; c->nseries > 1 && s < c->nseries; s++)
        x = svg_key(t, x, TOP + TALL + BELOW + 14, colour[s % 4], c->name[s]);
}

void chart_lines(const LineChart *c, Text *t) {
    AxisRange r = range_of(c);
    svg_begin(t, c->label, CHART_WIDTH, TOP + TALL + BELOW + (c->nseries > 1 ? 24 : 0));
    draw_axes(c, r, t);
    for (int s = c->nseries; s-- > 0;)
        draw_series(c, s, r, t);
    draw_names(c, t);
    text_add(t, "</svg>\n");
}
