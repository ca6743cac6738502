/* SPDX-License-Identifier: MIT
** Depth-mixing matrices of all variants on one colour scale, a row a variant: at initial weights,
** and where they depend on weights or data at trained ones and what training changed, or, where
** nothing was trained, at random ones; mixing.h says what they are.
*/
#include "compare_page.h"
#include "depth_map.h"
#include "mixing.h"

#include <math.h>
#include <stdlib.h>

/* The random weights are double precision: what is not alike there differs by more. */
#define ALIKE 1e-6

typedef struct Map {
    Mixing *initial, *random;
    const char **read; /* sites */
    bool *boundary;    /* NULL: no blocks */
    Error error;       /* why there is none */
} Map;

static double largest(const Mixing *x) {
    double most = 0;
    for (int i = 0; x && i < x->size * x->size; i++)
        most = fmax(most, fabs(x->mean[i]));
    return most;
}

/* false: no memory */
static bool open_map(const Variant *v, Map *m) {
    const Model *model = v->report->model;
    *m = (Map){ .read = calloc((size_t)model->nread + 1, sizeof *m->read),
                .boundary = calloc((size_t)model->nread + 1, sizeof *m->boundary) };
    if (!m->read || !m->boundary) return false;
    m->initial = mixing_measure(model, WEIGHTS_INITIAL, MIXING_SEED, &m->error);
    if (m->initial) m->random = mixing_measure(model, WEIGHTS_RANDOM, MIXING_SEED, &m->error);
    for (int i = 0; i < model->nread; i++)
        m->read[i] = model->read[i].site;
    if (m->random) depth_blocks(m->random->mean, m->random->size, ALIKE, m->boundary);
    return true;
}

static void close_map(Map *m) {
    mixing_free(m->initial), mixing_free(m->random);
    free(m->read), free(m->boundary);
}

/* == A row of pictures ==================================================== */

static void add_figure(const Map *m, const double *weight, const char *words, double scale,
                       Text *t) {
    double most = 0;
    for (int i = 0; i < m->initial->size * m->initial->size; i++)
        most = fmax(most, fabs(weight[i]));
    text_add(t, "<figure><figcaption><span>%s; the largest is %.3g</span></figcaption>\n", words,
             most);
    depth_map(&(DepthMap){ .weight = weight,
                           .size = m->initial->size,
                           .read = m->read,
                           .scale = scale,
                           .boundary = m->boundary,
                           .letter = TRIO_LETTER },
              t);
    text_add(t, "</figure>\n");
}

static void add_none(const Error *e, Text *t) {
    text_add(t, "<figure><figcaption><span>no picture: ");
    svg_escaped(t, e->text);
    text_add(t, "</span></figcaption></figure>\n");
}

static void add_trained(const Comparison *c, const Variant *v, const Map *m, double scale,
                        Text *t) {
    int cells = m->initial->size * m->initial->size;
    double *difference = malloc((size_t)cells * sizeof *difference);
    char words[120];
    print_text(words, sizeof words,
               "trained, %d steps from seed %llu, on %d tokens of the validation text", c->steps,
               (unsigned long long)c->seed[0], v->trained->samples);
    add_figure(m, v->trained->mean, words, scale, t);
    if (!difference) t->failed = true;
    for (int i = 0; difference && i < cells; i++)
        difference[i] = v->trained->mean[i] - m->initial->mean[i];
    if (difference) add_figure(m, difference, "difference, trained less initial", scale, t);
    free(difference);
}

static void add_maps(const Comparison *c, const Variant *v, const Map *m, double scale, Text *t) {
    if (!m->random) {
        add_none(&m->error, t);
        return;
    }
    bool fixed = mixing_kind(m->initial, m->random) == MIXING_FIXED;
    add_figure(m, m->initial->mean, fixed ? "fixed, at any weights" : "at initial weights", scale,
               t);
    if (fixed) return;
    if (v->trained) add_trained(c, v, m, scale, t);
    else if (v->untrained.status) add_none(&v->untrained, t);
    else add_figure(m, m->random->mean, "at random weights", scale, t);
}

static void add_variant(const Comparison *c, const Variant *v, const Map *m, double scale,
                        Text *t) {
    text_add(t, "<h3>");
    svg_escaped(t, v->label);
    text_add(t, "</h3>\n<div class=\"trio\">\n");
    add_maps(c, v, m, scale, t);
    text_add(t, "</div>\n");
}

static void add_note(const Comparison *c, Text *t) {
    char note[1024];
    print_text(note, sizeof note,
               "%s Tokens are %s. One colour scale for all, up to the largest weight of initial%s "
               "models.",
               depth_map_note,
               c->mixing ? "random sources, and those of the validation text where it was trained"
                         : "random sources",
               c->mixing ? " and trained" : "");
    page_heading(t, "Depth mixing", note);
}

void page_mixing(const Comparison *c, Text *t) {
    Map *map = calloc((size_t)c->n, sizeof *map);
    double scale = 1e-9;
    if (!map) t->failed = true;
    for (int i = 0; map && i < c->n; i++) {
        if (!open_map(&c->variant[i], &map[i])) t->failed = true;
        scale = fmax(scale, fmax(largest(map[i].initial), largest(c->variant[i].trained)));
    }
    add_note(c, t);
    text_add(t, "<figure class=\"scale\">");
    chart_scale(scale, true, t);
    text_add(t, "</figure>\n");
    for (int i = 0; map && i < c->n && !t->failed; i++)
        add_variant(c, &c->variant[i], &map[i], scale, t);
    for (int i = 0; map && i < c->n; i++)
        close_map(&map[i]);
    free(map);
}
