/* SPDX-License-Identifier: MIT
** Memory over a training step, all variants on one scale: the bytes of activations per token that
** are alive at each step of the program, and the memory that the plan gives them.
*/
#include "compare_page.h"
#include "console.h"
#include "memory_view.h"
#include "svg.h"
#include "work.h"

#include <math.h>
#include <stdlib.h>

enum {
    WIDTH = 440,
    LEFT = 96,
    RIGHT = 428,
    TOP = 22,
    TALL = 220,
    HEIGHT = TOP + TALL + 44,
    COLUMNS = 280,
    TOKEN = 0
};

typedef struct VariantPanel {
    const Plan *p;
    double most; /* bytes at the top */
    int variant; /* whose colour it has */
    Text *t;
} VariantPanel;

static double at_step(const VariantPanel *a, double step) {
    return LEFT + (RIGHT - LEFT) * step / (a->p->nstep ? a->p->nstep : 1);
}
static double at_byte(const VariantPanel *a, double bytes) {
    return TOP + TALL * (1 - bytes / a->most);
}

/* Steps of a column count with their largest value. */
static void draw_alive(const VariantPanel *a) {
    int n, columns = a->p->nstep < COLUMNS ? a->p->nstep : COLUMNS;
    const MemoryItem *item = memory_items(a->p, &n);
    int64_t *alive = memory_alive(a->p, item, n, TOKEN);
    if (!alive) a->t->failed = true;
    text_add(a->t, "<path class=\"c%d\" fill-opacity=\".75\" d=\"M%d %d", a->variant % SVG_COLOURS,
             LEFT, TOP + TALL);
    for (int i = 0; alive && i < columns; i++) {
        int from = (int)((int64_t)i * a->p->nstep / columns),
            to = (int)((int64_t)(i + 1) * a->p->nstep / columns);
        int64_t most = 0;
        for (int s = from; s < to; s++)
            most = alive[s] > most ? alive[s] : most;
        text_add(a->t, "V%.1fH%.1f", at_byte(a, (double)most), at_step(a, to));
    }
    text_add(a->t, "V%dz\"/>\n", TOP + TALL);
    free(alive);
}

static void memory_draw_axes(const VariantPanel *a) {
    double tick = svg_tick(a->most, 5, true), steps = svg_tick(a->p->nstep, 4, false),
           backward = at_step(a, work_backward(a->p));
    char text[32];
    for (double b = 0; b <= a->most; b += tick) {
        svg_line(a->t, LEFT - 4, at_byte(a, b), RIGHT, at_byte(a, b), "line");
        svg_text(a->t, LEFT - 8, at_byte(a, b) + 4, "soft", "end", 20, human_bytes(text, b));
    }
    for (double s = 0; s <= a->p->nstep; s += fmax(steps, 1)) {
        print_text(text, sizeof text, "%.0f", s);
        svg_text(a->t, at_step(a, s), TOP + TALL + 15, "soft", "middle", 20, text);
    }
    svg_line(a->t, backward, TOP, backward, TOP + TALL, "flow");
    svg_text(a->t, backward - 4, TOP - 8, "soft", "end", 20, "forward");
    svg_text(a->t, backward + 4, TOP - 8, "soft", "start", 20, "backward");
    svg_text(a->t, (LEFT + RIGHT) / 2.0, TOP + TALL + 35, "soft", "middle", 60,
             "steps of the program");
    svg_vertical(a->t, SVG_NAME, TOP + TALL / 2.0, "bytes per token");
}

static void add_figure(const Comparison *c, int variant, double most, Text *t) {
    const Variant *v = &c->variant[variant];
    char size[32];
    VariantPanel a = { memory_plan(v->report), most, variant, t };
    double place = (double)memory_size(a.p, TOKEN);
    text_add(t, "<figure><figcaption>");
    svg_escaped(t, v->label);
    text_add(t, "<span>%s per token, the dashed line</span></figcaption>\n",
             human_bytes(size, place));
    svg_begin(t, "memory over a training step", WIDTH, HEIGHT);
    draw_alive(&a);
    memory_draw_axes(&a);
    text_add(t, "<path class=\"flow\" stroke-dasharray=\"5 3\" d=\"M%d %.1fH%d\"/>\n", LEFT,
             at_byte(&a, place), RIGHT);
    text_add(t, "</svg></figure>\n");
}

void page_memory(const Comparison *c, Text *t) {
    double most = 1;
    for (int i = 0; i < c->n; i++)
        most = fmax(most, (double)memory_size(memory_plan(c->variant[i].report), TOKEN));
    page_heading(t, "Memory over time",
                 "Activations of a training step that are still needed, step by step, on one "
                 "scale. The dashed line is the memory "
                 "that the plan takes for them.");
    text_add(t, "<div class=\"figures\">\n");
    for (int i = 0; i < c->n; i++)
        add_figure(c, i, most, t);
    text_add(t, "</div>\n");
}
