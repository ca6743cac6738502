/*
** Depth-mixing matrices of all variants on one colour scale: at initial weights, and where
** they depend on weights or data at trained ones too, or, where nothing was trained, at
** random ones; mixing.h says what they are.
** Two hues that the colour-blind tell apart, blue for negative and orange for positive
** weights, paler towards 0.  Cells of a row that share a shade are one rectangle.
*/
#include "compare_page.h"
#include "mixing.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 360, LEFT = 46, EDGE = 300, TOP = 8, HEIGHT = TOP + EDGE + 44, LEVELS = 24 };

typedef struct Map {
    Mixing *initial, *random;
    Error error;                /* why there is none */
} Map;

static double largest(const Mixing *x) {
    double most = 0;
    for (int i = 0; x && i < x->size * x->size; i++) most = fmax(most, fabs(x->mean[i]));
    return most;
}

static void measure(const Variant *v, Map *m) {
    *m = (Map){ .initial = mixing_measure(v->report->model, WEIGHTS_INITIAL, MIXING_SEED, &m->error) };
    if (m->initial) m->random = mixing_measure(v->report->model, WEIGHTS_RANDOM, MIXING_SEED, &m->error);
}

/* -LEVELS ... LEVELS, by the square root: one read that sums would leave the others no shades. */
static int shade(const Mixing *x, int r, int s, double scale) {
    double weight = x->mean[r * x->size + s];
    return (int)lround(copysign(LEVELS * sqrt(fmin(fabs(weight) / scale, 1)), weight));
}

static void draw_shade(const Mixing *x, double scale, int level, Text *t) {
    bool open = false;
    for (int r = 0; r < x->size; r++)
        for (int s = 0; s <= r;) {
            int from = s++;
            if (shade(x, r, from, scale) != level) continue;
            while (s <= r && shade(x, r, s, scale) == level) s++;
            if (!open) text_add(t, "<path class=\"c%d\" fill-opacity=\"%.3f\" d=\"", level < 0 ? 0 : 5, fabs((double)level) / LEVELS);
            open = true;
            text_add(t, "M%d %dh%dv1h-%dz", from, r, s - from, s - from);
        }
    if (open) text_add(t, "\"/>\n");
}

static void draw_axes(const Mixing *x, Text *t) {
    int step = (int)fmax(svg_tick(x->size, 6, false), 1);
    double cell = (double)EDGE / x->size;
    text_add(t, "<path class=\"line\" d=\"M%d %dv%dh%d\"/>\n", LEFT, TOP, EDGE, EDGE);
    for (int i = 0; i < x->size; i += step) {
        char name[16];
        print_text(name, sizeof name, "%d", i);
        svg_text(t, LEFT - 6, TOP + (i + 0.5) * cell + 4, "soft", "end", 8, name);
        svg_text(t, LEFT + (i + 0.5) * cell, TOP + EDGE + 15, "soft", "middle", 8, i ? name : "e");
    }
    svg_text(t, LEFT + EDGE / 2.0, TOP + EDGE + 35, "soft", "middle", 60, "source: embedding e, output of sublayer i");
    svg_vertical(t, 14, TOP + EDGE / 2.0, "read, the last one is the final read");
}

static void add_map(const Variant *v, const Mixing *x, const char *weights, double scale, Text *t) {
    text_add(t, "<figure><figcaption>");
    svg_escaped(t, v->label);
    text_add(t, "<span>%s; the largest is %.3g</span></figcaption>\n", weights, largest(x));
    svg_begin(t, "depth-mixing matrix", WIDTH, HEIGHT);
    text_add(t, "<g shape-rendering=\"crispEdges\" transform=\"translate(%d %d)scale(%.5f)\">\n", LEFT, TOP, (double)EDGE / x->size);
    for (int level = -LEVELS; level <= LEVELS; level++)
        if (level) draw_shade(x, scale, level, t);
    text_add(t, "</g>\n");
    draw_axes(x, t);
    text_add(t, "</svg></figure>\n");
}

static void add_scale(double scale, Text *t) {
    char number[32];
    text_add(t, "<figure style=\"max-width:480px\">");
    svg_begin(t, "colour scale", WIDTH, 34);
    for (int i = -LEVELS; i <= LEVELS; i++)
        text_add(t, "<rect x=\"%.1f\" y=\"2\" width=\"5.6\" height=\"12\" class=\"c%d\" fill-opacity=\"%.3f\"/>\n", 40 + 5.6 * (i + LEVELS), i < 0 ? 0 : 5,
                 fabs((double)i) / LEVELS);
    for (int i = -2; i <= 2; i++) {         /* half way is a quarter of the scale */
        double value = scale * i * abs(i) / 4;
        print_text(number, sizeof number, i == 2 ? "%s%.3g or more" : "%s%.3g", i < 0 ? "\xe2\x88\x92" : "", fabs(value));
        svg_text(t, 40 + 5.6 * (LEVELS + 0.5 + i * LEVELS / 2.0), 29, "soft", "middle", 20, number);
    }
    text_add(t, "</svg></figure>\n");
}

static void add_none(const Variant *v, const Error *e, Text *t) {
    text_add(t, "<figure><figcaption>");
    svg_escaped(t, v->label);
    text_add(t, "<span>no picture: ");
    svg_escaped(t, e->text);
    text_add(t, "</span></figcaption></figure>\n");
}

static void add_trained(const Comparison *c, const Variant *v, double scale, Text *t) {
    char words[120];
    print_text(words, sizeof words, "trained, %d steps from seed %llu, on %d tokens of the validation text", c->steps, (unsigned long long)c->seed[0],
               v->trained->samples);
    add_map(v, v->trained, words, scale, t);
}

static void add_maps(const Comparison *c, const Variant *v, const Map *m, double scale, Text *t) {
    if (!m->random) {
        add_none(v, &m->error, t);
        return;
    }
    bool fixed = mixing_kind(m->initial, m->random) == MIXING_FIXED;
    add_map(v, m->initial, fixed ? "fixed, at any weights" : "at initial weights", scale, t);
    if (fixed) return;
    if (v->trained) add_trained(c, v, scale, t);
    else if (v->untrained.status) add_none(v, &v->untrained, t);
    else add_map(v, m->random, "at random weights", scale, t);
}

void page_mixing(const Comparison *c, Text *t) {
    Map *map = calloc((size_t)c->n, sizeof *map);
    double scale = 1e-9;
    if (!map) t->failed = true;
    for (int i = 0; map && i < c->n; i++) {
        measure(&c->variant[i], &map[i]);
        scale = fmax(scale, fmax(largest(map[i].initial), largest(c->variant[i].trained)));
    }
    page_heading(t, "Depth mixing", "With which weight each read takes the embedding and each sublayer's output, a mean over channels and over random "
                                    "sources, or over those of a text where it was trained. One colour scale for all, shaded by the square root, "
                                    "up to the largest weight of initial and trained models.");
    if (map) add_scale(scale, t);
    text_add(t, "<div class=\"figures\">\n");
    for (int i = 0; map && i < c->n; i++) add_maps(c, &c->variant[i], &map[i], scale, t);
    text_add(t, "</div>\n");
    for (int i = 0; map && i < c->n; i++) mixing_free(map[i].initial), mixing_free(map[i].random);
    free(map);
}
