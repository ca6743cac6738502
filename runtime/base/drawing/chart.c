/* SPDX-License-Identifier: MIT
** Heat maps and line charts.  Cells of a row that share a shade are one rectangle. */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEVELS = 24,
    LEFT = 52,
    EDGE = 334,
    ACROSS = LEFT + EDGE,
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

/* == The sentence below the pointer ======================================= */

/* More cells than these, and a row has one sentence instead of one for each of its cells. */
enum { CELLS_SAID = 1200, SHARES_SAID = 12 };

static double value_at(const HeatMap *m, int r, int c) {
    return m->value[(int64_t)r * m->columns + c];
}

static bool there(const HeatMap *m, int r, int c) {
    return (!m->lower || c <= r) && isfinite(value_at(m, r, c));
}

static void chart_add_name(const char *const *said, int i, Text *t) {
    if (said) svg_escaped(t, said[i]);
    else text_add(t, "%d", i);
}

static void say_cell(const HeatMap *m, int r, int c, Text *t) {
    text_add(t, "<rect x=\"%d\" y=\"%d\"><title>", c, r);
    chart_add_name(m->row_said, r, t);
    text_add(t, " %s ", m->verb);
    chart_add_name(m->column_said, c, t);
    text_add(t, ": %s</title></rect>\n", FIGURES(value_at(m, r, c), 3));
}

/* The column of the largest value that is smaller than 'below', or as large and further right;
** -1: none. */
static int next_largest(const HeatMap *m, int r, int last) {
    double below = last < 0 ? INFINITY : fabs(value_at(m, r, last));
    int best = -1;
    for (int c = 0; c < m->columns; c++) {
        double x = fabs(value_at(m, r, c));
        if (!there(m, r, c) || !(x > 0) || x > below || (x == below && c <= last)) continue;
        if (best < 0 || x > fabs(value_at(m, r, best))) best = c;
    }
    return best;
}

static void say_row(const HeatMap *m, int r, Text *t) {
    text_add(t, "<path d=\"M0 %dh%dv1h-%dz\"><title>", r, m->columns, m->columns);
    chart_add_name(m->row_said, r, t);
    text_add(t, " %s", m->verb);
    for (int i = 0, c = next_largest(m, r, -1); c >= 0; c = next_largest(m, r, c), i++) {
        text_add(t, i ? ", " : " ");
        if (i == SHARES_SAID) {
            text_add(t, "less of others");
            break;
        }
        chart_add_name(m->column, c, t);
        text_add(t, " %s", FIGURES(value_at(m, r, c), 3));
    }
    text_add(t, "</title></path>\n");
}

static void say(const HeatMap *m, Text *t) {
    int cells = m->rows * m->columns / (m->lower ? 2 : 1);
    for (int r = 0; m->verb && r < m->rows; r++)
        if (cells > CELLS_SAID) say_row(m, r, t);
        else
            for (int c = 0; c < m->columns; c++)
                if (there(m, r, c)) say_cell(m, r, c, t);
}

/* == Axes ================================================================= */

static int chart_longest(const char *const *name, int n) {
    size_t most = 2;
    for (int i = 0; name && i < n; i++)
        most = strlen(name[i]) > most ? strlen(name[i]) : most;
    return (int)most;
}

static double letter_of(const HeatMap *m) { return m->letter > 0 ? m->letter : 12; }

/* Names of rows stand between the axis' name and the cells. */
static double heat_left(const HeatMap *m) {
    return fmax(LEFT, svg_left(0.6 * letter_of(m) * chart_longest(m->row, m->rows)));
}

static double cell_of(const HeatMap *m) {
    return (ACROSS - heat_left(m)) / (m->columns > m->rows ? m->columns : m->rows);
}

/* How many rows or columns there are from one name to the next, so that each has 'room'. */
static int names_apart(const HeatMap *m, double room) {
    static const int times[] = { 1, 2, 4, 5, 8, 10, 16, 20, 40, 50, 100, 200 };
    int period = m->period > 1 ? m->period : 1, step = 1;
    for (size_t i = 0; i < sizeof times / sizeof *times && step * cell_of(m) < room; i++)
        step = times[i] * period;
    return step;
}

static void draw_name(const char *const *name, int i, double x, double y, const char *anchor,
                      Text *t) {
    char number[16];
    print_text(number, sizeof number, "%d", i);
    svg_text(t, x, y, "soft", anchor, 8, name ? name[i] : number);
}

static void draw_names(const HeatMap *m, double bottom, Text *t) {
    double cell = cell_of(m), letter = letter_of(m), left = heat_left(m);
    int across = names_apart(m, 0.6 * letter * chart_longest(m->column, m->columns) + 3),
        down = names_apart(m, letter);
    for (int i = 0; i < m->columns; i++) {
        bool near = i && i <= m->lead && cell < 15; /* to the first */
        if (!i || (!near && i >= m->lead && (i - m->lead) % across == 0))
            draw_name(m->column, i, left + (i + 0.5) * cell, bottom + 16, "middle", t);
    }
    int last = m->rows - 1;
    for (int i = 0; i < m->rows; i++) {
        bool end = i == last && m->lead > 0, near = m->lead > 0 && (last - i) * cell < 12;
        if (end || (i % down == 0 && !near))
            draw_name(m->row, i, left - 6, TOP + (i + 0.5) * cell + 4, "end", t);
    }
    svg_text(t, left + m->columns * cell / 2, bottom + 36, "soft", "middle", 70, m->across);
    svg_vertical(t, SVG_NAME, TOP + m->rows * cell / 2, m->down);
}

static void draw_boundaries(const HeatMap *m, Text *t) {
    double cell = cell_of(m), left = heat_left(m);
    for (int i = 1; m->boundary && i < m->columns; i++)
        if (m->boundary[i])
            svg_line(t, left + i * cell, TOP + (m->lower ? i - 1 : 0) * cell, left + i * cell,
                     TOP + m->rows * cell, "edge");
}

double chart_heat_height(const HeatMap *m) { return TOP + m->rows * cell_of(m) + BELOW; }

void chart_heat_cells(const HeatMap *m, Text *t) {
    double cell = cell_of(m), left = heat_left(m), bottom = TOP + m->rows * cell;
    text_add(t, "<g shape-rendering=\"crispEdges\" transform=\"translate(%.1f %d)scale(%.5f)\">\n",
             left, TOP, cell);
    for (int level = -LEVELS; level <= LEVELS; level++)
        if (level) draw_shade(m, level, t);
    text_add(t, "</g>\n");
    draw_boundaries(m, t);
    text_add(t, "<path class=\"line\" d=\"M%.1f %dv%.1fh%.1f\"/>\n", left, TOP, m->rows * cell,
             m->columns * cell);
    draw_names(m, bottom, t);
    text_add(t, "<g class=\"said\" transform=\"translate(%.1f %d)scale(%.5f)\">\n", left, TOP,
             cell);
    say(m, t);
    text_add(t, "</g>\n");
}

void chart_heat_map(const HeatMap *m, Text *t) {
    svg_begin(t, m->label, CHART_WIDTH, chart_heat_height(m));
    chart_heat_cells(m, t);
    text_add(t, "</svg>\n");
}

void chart_scale_bar(double scale, bool root, Text *t) {
    double width = (double)EDGE / (2 * LEVELS + 1);
    char number[32];
    for (int i = -LEVELS; i <= LEVELS; i++)
        text_add(t,
                 "<rect x=\"%.2f\" y=\"2\" width=\"%.2f\" height=\"12\" class=\"c%d\" "
                 "fill-opacity=\"%.3f\"/>\n",
                 LEFT + width * (i + LEVELS), width + 0.1, i < 0 ? 0 : 5, fabs((double)i) / LEVELS);
    for (int i = -2; i <= 2; i++) { /* half of the colours are a quarter of a square root's scale */
        double value = scale * (root ? i * i / 4.0 : abs(i) / 2.0);
        print_text(number, sizeof number, "%s%s", i < 0 ? "\xe2\x88\x92" : "", FIGURES(value, 3));
        svg_text(t, LEFT + width * (LEVELS + 0.5 + i * LEVELS / 2.0), 30, "soft", "middle", 20,
                 number);
    }
}

void chart_scale(double scale, bool root, Text *t) {
    svg_begin(t, "colour scale", CHART_WIDTH, 36);
    chart_scale_bar(scale, root, t);
    text_add(t, "</svg>\n");
}

/* == Lines ================================================================ */

typedef struct AxisRange {
    double low, high;
    double tick; /* from one mark to the next */
    double left; /* where the picture begins, behind their texts */
} AxisRange;

static AxisRange range_of(const LineChart *c) {
    AxisRange r = { .low = INFINITY, .high = -INFINITY };
    for (int s = 0; s < c->nseries; s++)
        for (int i = 0; i < c->count; i++) {
            double y = c->series[s][i];
            if (isfinite(y)) r.low = fmin(r.low, y), r.high = fmax(r.high, y);
        }
    if (!(r.low <= r.high)) r = (AxisRange){ .high = 1 };
    if (c->zero || c->bars) r.low = fmin(r.low, 0), r.high = fmax(r.high, 0);
    if (r.low == 0 && r.high == 0) r.high = 1; /* nothing but zeros */
    double margin = fmax(0.05 * (r.high - r.low), 1e-3 * fabs(r.high));
    if ((!c->zero && !c->bars) || r.low < 0) r.low -= margin;
    r.high += margin;
    r.tick = svg_tick(r.high - r.low, 6, false);
    r.left = fmax(LEFT, svg_left(svg_ticks_width(r.low, r.high, r.tick)));
    return r;
}

static double chart_place(const LineChart *c, AxisRange r, double i) {
    return r.left + (i + 0.5) * (RIGHT - r.left) / c->count;
}

static double height(AxisRange r, double y) { return TOP + TALL * (r.high - y) / (r.high - r.low); }

static void chart_draw_axes(const LineChart *c, AxisRange r, Text *t) {
    int across = (int)fmax(svg_tick(c->count, 8, false), 1);
    double room = (RIGHT - r.left) / c->count;
    char text[32];
    if (c->item) across = (int)ceil((7 * chart_longest(c->item, c->count) + 4) / room);
    for (double y = r.tick * ceil(r.low / r.tick); y <= r.high; y += r.tick) {
        svg_tick_text(text, y, r.tick);
        svg_line(t, r.left, height(r, y), RIGHT, height(r, y), "line");
        svg_text(t, r.left - 7, height(r, y) + 4, "soft", "end", 12, text);
    }
    for (int i = 0; i < c->count; i += across) {
        print_text(text, sizeof text, "%d", i);
        if (c->item) print_text(text, sizeof text, "%.31s", c->item[i]);
        svg_line(t, chart_place(c, r, i), TOP + TALL, chart_place(c, r, i), TOP + TALL + 5, "flow");
        svg_text(t, chart_place(c, r, i), TOP + TALL + 19, "soft", "middle", 24, text);
    }
    svg_line(t, r.left, TOP + TALL, RIGHT, TOP + TALL, "flow");
    svg_text(t, (r.left + RIGHT) / 2.0, TOP + TALL + 38, "soft", "middle", 60, c->across);
    svg_vertical(t, SVG_NAME, TOP + TALL / 2.0, c->up);
}

static void say_item(const LineChart *c, int s, int i, Text *t) {
    text_add(t, "<title>");
    if (c->nseries > 1) svg_escaped(t, c->name[s]), text_add(t, ", ");
    if (c->item) svg_escaped(t, c->item[i]);
    else text_add(t, "%d", i);
    text_add(t, ": %s</title>", FIGURES(c->series[s][i], 5));
}

static const int series_colour[] = { 5, 0, 2, 3 };

/* Series side by side, four fifths of an item's room together. */
static void draw_bars(const LineChart *c, int s, AxisRange r, Text *t) {
    double room = (RIGHT - r.left) / c->count, width = 0.8 * room / c->nseries;
    for (int i = 0; i < c->count; i++) {
        double y = c->series[s][i], x = chart_place(c, r, i) - 0.4 * room + s * width;
        if (!isfinite(y)) continue;
        text_add(t, "<rect class=\"c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
                 series_colour[s % 4], x, height(r, fmax(y, 0)), fmax(0.92 * width, 0.5),
                 fabs(height(r, y) - height(r, 0)));
        say_item(c, s, i, t);
        text_add(t, "</rect>\n");
    }
}

static void draw_series(const LineChart *c, int s, AxisRange r, Text *t) {
    const double *y = c->series[s];
    int class = series_colour[s % 4];
    text_add(t, "<path fill=\"none\" style=\"stroke:var(--c%d);stroke-width:1.8\"%s d=\"", class,
             s ? " stroke-dasharray=\"6 3\"" : "");
    for (int i = 0; i < c->count; i++)
        if (isfinite(y[i]))
            text_add(t, "%c%.1f %.1f", i && isfinite(y[i - 1]) ? 'L' : 'M', chart_place(c, r, i),
                     height(r, y[i]));
    text_add(t, "\"/>\n");
    for (int i = 0; i < c->count; i++)
        if (isfinite(y[i])) {
            text_add(t, "<circle class=\"c%d\" r=\"2.6\" cx=\"%.1f\" cy=\"%.1f\">", class,
                     chart_place(c, r, i), height(r, y[i]));
            say_item(c, s, i, t);
            text_add(t, "</circle>\n");
        }
}

/* Names stand below, each with a piece of its line. */
static void chart_draw_keys(const LineChart *c, Text *t) {
    double x = LEFT;
    for (int s = 0; c->nseries > 1 && s < c->nseries; s++)
        x = svg_key(t, x, TOP + TALL + BELOW + 14, series_colour[s % 4], c->name[s]);
}

void chart_lines(const LineChart *c, Text *t) {
    AxisRange r = range_of(c);
    svg_begin(t, c->label, CHART_WIDTH, TOP + TALL + BELOW + (c->nseries > 1 ? 24 : 0));
    chart_draw_axes(c, r, t);
    for (int s = c->nseries; s-- > 0;)
        if (c->bars) draw_bars(c, s, r, t);
        else draw_series(c, s, r, t);
    if (r.low < 0) svg_line(t, r.left, height(r, 0), RIGHT, height(r, 0), "flow");
    chart_draw_keys(c, t);
    text_add(t, "</svg>\n");
}
