/* SPDX-License-Identifier: MIT
** The memory plan as a picture: steps from left to right, a panel a space with
** offsets upwards; a rectangle is a value's place for the time it is taken.
*/
#include "console.h"
#include "views.h"
#include "memory_view.h"
#include "svg.h"
#include "work.h"

#include <math.h>

enum { LEFT = 94, RIGHT = 624, TOP = 76, GAP = 46, TALL = 230, LOW = 90 };

typedef struct SpacePanel {
    const Plan *p;
    int space;
    double top, height, most; /* most: bytes */
    Text *t;
} SpacePanel;

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
    text_add(a->t, "<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\"%s><title>", x,
             at_byte(a, from + bytes), width, height, height > 2 ? " class=\"tall\"" : "");
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
    svg_key(a->t, LEFT, a->top - 10, a->space, title);
    draw_scale(a);
    text_add(a->t, "<g class=\"c%d\">\n", a->space);
    for (int i = 0; i < n; i++)
        if (item[i].space == a->space) draw_value(a, &item[i]);
    text_add(a->t, "</g>\n");
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
    SpacePanel panel[MEMORY_SPACES];
    int panels = 0;
    double y = TOP;
    for (int s = 0; s < MEMORY_SPACES; s++) {
        if (!memory_size(p, s)) continue;
        double height = s < 2 ? TALL : LOW;
        panel[panels++] = (SpacePanel){ p, s, y, height, (double)memory_size(p, s), t };
        y += height + GAP;
    }
    char title[160];
    print_text(title, sizeof title, "%.64s: memory plan of %s", r->model->name,
               r->training ? "a training step" : "reading");
    svg_open(t, title, y - GAP + 52);
    for (int i = 0; i < panels; i++)
        draw_panel(&panel[i], item, n);
    draw_steps(p, y - GAP, t);
    svg_close(t);
}
