/* SPDX-License-Identifier: MIT
** Depth-mixing matrices of all variants on one colour scale: at initial weights, and where
** they depend on weights or data at trained ones too, or, where nothing was trained, at
** random ones; mixing.h says what they are.
*/
#include "compare_page.h"
#include "chart.h"
#include "mixing.h"

#include <math.h>
#include <stdlib.h>

typedef struct Map {
    Mixing *initial, *random;
    Error error; /* why there is none */
} Map;

static double largest(const Mixing *x) {
    double most = 0;
    for (int i = 0; x && i < x->size * x->size; i++)
        most = fmax(most, fabs(x->mean[i]));
    return most;
}

static void measure(const Variant *v, Map *m) {
    *m = (Map){ .initial = mixing_measure(v->report->model, WEIGHTS_INITIAL, MIXING_SEED,
                                          &m->error) };
    if (m->initial)
        m->random = mixing_measure(v->report->model, WEIGHTS_RANDOM, MIXING_SEED, &m->error);
}

static void add_map(const Variant *v, const Mixing *x, const char *weights, double scale, Text *t) {
    text_add(t, "<figure><figcaption>");
    svg_escaped(t, v->label);
    text_add(t, "<span>%s; the largest is %.3g</span></figcaption>\n", weights, largest(x));
    chart_heat_map(&(HeatMap){ x->mean, x->size, x->size, scale, true, "depth-mixing matrix",
                               "source: embedding 0, output of sublayer i",
                               "read, the last one is the final read" },
                   t);
    text_add(t, "</figure>\n");
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
    print_text(words, sizeof words,
               "trained, %d steps from seed %llu, on %d tokens of the validation text", c->steps,
               (unsigned long long)c->seed[0], v->trained->samples);
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
    page_heading(t, "Depth mixing",
                 "With which weight each read takes the embedding and each sublayer's output, a "
                 "mean over channels and over random "
                 "sources, or over those of a text where it was trained. One colour scale for all, "
                 "shaded by the square root, "
                 "up to the largest weight of initial and trained models.");
    text_add(t, "<figure style=\"max-width:480px\">");
    chart_scale(scale, true, t);
    text_add(t, "</figure>\n");
    text_add(t, "<div class=\"figures\">\n");
    for (int i = 0; map && i < c->n; i++)
        add_maps(c, &c->variant[i], &map[i], scale, t);
    text_add(t, "</div>\n");
    for (int i = 0; map && i < c->n; i++)
        mixing_free(map[i].initial), mixing_free(map[i].random);
    free(map);
}
