/* SPDX-License-Identifier: MIT
** The memory plan as a picture: steps from left to right, one panel per memory area with offsets
** upwards.  A rectangle is the memory of a value for its lifetime, coloured by the part of the
** model that the value belongs to.
*/
#include "console.h"
#include "views.h"
#include "memory_view.h"
#include "svg.h"
#include "work.h"

#include <math.h>
#include <string.h>

enum { LEFT = 94, RIGHT = 624, TOP = 100, GAP = 46, TALL = 230, LOW = 90 };

/* Kinds of values, those that take most first: bytes times steps.  The last of the colours is that
** of all others. */
enum { KINDS_MOST = 64 };
typedef struct MemoryKinds {
    const Model *m;
    const char *name[KINDS_MOST];
    double taken[KINDS_MOST];
    int n;
} MemoryKinds;

typedef struct SpacePanel {
    const Plan *p;
    const MemoryKinds *kinds;
    int space;
    double top, height, most; /* most: bytes */
    Text *t;
} SpacePanel;

/* == Kinds ================================================================ */

static void add_kind(MemoryKinds *k, const MemoryItem *item) {
    const char *name = memory_kind(k->m, item->b);
    int i = 0;
    while (i < k->n && strcmp(k->name[i], name))
        i++;
    if (i == KINDS_MOST) i--;
    if (i == k->n) k->name[k->n++] = name;
    k->taken[i] += (double)item->b->stride * (item->to - item->from);
}

static void find_kinds(MemoryKinds *k, const MemoryItem *item, int n) {
    for (int i = 0; i < n; i++)
        add_kind(k, &item[i]);
    for (int i = 1; i < k->n; i++)
        for (int j = i; j > 0 && k->taken[j] > k->taken[j - 1]; j--) {
            double taken = k->taken[j];
            const char *name = k->name[j];
            k->taken[j] = k->taken[j - 1], k->name[j] = k->name[j - 1];
            k->taken[j - 1] = taken, k->name[j - 1] = name;
        }
}

/* SVG_COLOURS: that of all others. */
static int colour_of(const MemoryKinds *k, const char *name) {
    int i = 0;
    while (i < k->n && strcmp(k->name[i], name))
        i++;
    return i < SVG_COLOURS ? i : SVG_COLOURS;
}

static void memory_svg_draw_keys(const MemoryKinds *k, Text *t) {
    double x = 16;
    for (int i = 0; i < k->n && i < SVG_COLOURS; i++)
        x = svg_key(t, x, 50, i, k->name[i]);
    if (k->n <= SVG_COLOURS) return;
    text_add(t, "<rect x=\"%.1f\" y=\"40\" width=\"11\" height=\"11\" class=\"soft\"/>\n", x);
    svg_text(t, x + 16, 50, "soft", "start", 20, "others");
}

/* == Panels =============================================================== */

static double at_step(const Plan *p, double step) {
    return LEFT + (RIGHT - LEFT) * step / (p->nstep ? p->nstep : 1);
}

static double at_byte(const SpacePanel *a, double bytes) {
    return a->top + a->height * (1 - bytes / a->most);
}

static void draw_value(const SpacePanel *a, const MemoryItem *item) {
    double x = at_step(a->p, item->from), width = at_step(a->p, item->to) - x;
    double bytes = 4.0 * (double)item->b->stride, from = 4.0 * (double)item->b->offset;
    Text name = { 0 };
    memory_name(item->b, &name);
    double height = a->height * bytes / a->most;
    const char *kind = memory_kind(a->kinds->m, item->b);
    int colour = colour_of(a->kinds, kind);
    char class[16];
    print_text(class, sizeof class, colour < SVG_COLOURS ? "c%d" : "soft", colour);
    text_add(a->t,
             "<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" class=\"%s%s\"><title>", x,
             at_byte(a, from + bytes), width, height, class, height > 2 ? " tall" : "");
    svg_escaped(a->t, kind);
    text_add(a->t, ": ");
    svg_escaped(a->t, name.at ? name.at : "");
    text_add(a->t, ", %.0f bytes, steps %d-%d</title></rect>\n", bytes, item->from, item->to - 1);
    text_free(&name);
}

static void draw_scale(const SpacePanel *a) {
    double tick = svg_tick(a->most, a->height > 150 ? 5 : 2, true);
    for (double b = 0; b <= a->most; b += tick) {
        char text[32];
        svg_line(a->t, LEFT - 4, at_byte(a, b), RIGHT, at_byte(a, b), "line");
        svg_text(a->t, LEFT - 8, at_byte(a, b) + 4, "soft", "end", 20, human_bytes(text, b));
    }
}

static void draw_panel(const SpacePanel *a, const MemoryItem *item, int n) {
    const MemorySpace *s = memory_space(a->space);
    char size[32], title[160];
    print_text(title, sizeof title, "%s: %s, %s in all", s->name, s->unit,
               human_bytes(size, a->most));
    svg_text(a->t, LEFT, a->top - 10, "soft", "start", 90, title);
    draw_scale(a);
    for (int i = 0; i < n; i++)
        if (item[i].space == a->space) draw_value(a, &item[i]);
    double x = at_step(a->p, work_backward(a->p));
    svg_line(a->t, x, a->top, x, a->top + a->height, "flow");
    svg_vertical(a->t, 14, a->top + a->height / 2, a->space < 2 ? "bytes per token" : "bytes");
}

/* Where the backward part begins, and the axis all panels share. */
static void draw_steps(const Plan *p, double bottom, Text *t) {
    int backward = work_backward(p);
    double tick = svg_tick(p->nstep, 6, false);
    if (backward < p->nstep) {
        svg_text(t, at_step(p, backward) - 6, TOP - 30, "soft", "end", 40, "\xe2\x86\x90 forward");
        svg_text(t, at_step(p, backward) + 6, TOP - 30, "soft", "start", 40,
                 "backward \xe2\x86\x92");
    }
    svg_line(t, LEFT, bottom, RIGHT, bottom, "flow");
    for (double s = 0; s <= p->nstep; s += fmax(tick, 1)) {
        char text[32];
        print_text(text, sizeof text, "%.0f", s);
        svg_line(t, at_step(p, s), bottom, at_step(p, s), bottom + 5, "flow");
        svg_text(t, at_step(p, s), bottom + 18, "soft", "middle", 20, text);
    }
    svg_text(t, (LEFT + RIGHT) / 2.0, bottom + 36, "soft", "middle", 80,
             "steps of the program, in order: a call of a kernel each");
}

void report_memory_svg(const Report *r, Text *t) {
    const Plan *p = memory_plan(r);
    int n;
    MemoryItem *item = memory_items(p, &n);
    MemoryKinds kinds = { .m = r->model };
    find_kinds(&kinds, item, n);
    SpacePanel panel[MEMORY_SPACES];
    int panels = 0;
    double y = TOP;
    for (int s = 0; s < MEMORY_SPACES; s++) {
        if (!memory_size(p, s)) continue;
        double height = s < 2 ? TALL : LOW;
        panel[panels++] = (SpacePanel){ p, &kinds, s, y, height, (double)memory_size(p, s), t };
        y += height + GAP;
    }
    char title[160];
    print_text(title, sizeof title, "%.64s: memory plan of %s", r->model->name,
               r->training ? "a training step" : "reading");
    svg_open(t, title, y - GAP + 52);
    memory_svg_draw_keys(&kinds, t);
    for (int i = 0; i < panels; i++)
        draw_panel(&panel[i], item, n);
    draw_steps(p, y - GAP, t);
    svg_close(t);
}
