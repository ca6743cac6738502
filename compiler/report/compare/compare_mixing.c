/* SPDX-License-Identifier: MIT
** Depth-mixing matrices of all variants on one colour scale, one row per variant: at initial
** weights and, if they depend on weights or data, at trained weights with the difference (or,
** without training, at random weights). mixing.h defines them.
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

/* Sizes of the weights that are not zero; returns how many. */
static int sizes(const Mixing *x, double *to) {
    int n = 0;
    for (int i = 0; x && i < x->size * x->size; i++)
        if (x->mean[i] != 0) to[n++] = fabs(x->mean[i]);
    return n;
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
    text_add(t, "<figure><figcaption><span>%s; the largest is %s</span></figcaption>\n", words,
             FIGURES(most, 3));
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
    if (fixed && depth_all_ones(m->initial->mean, m->initial->size, ALIKE)) {
        text_add(t, "<p>%s</p>\n", depth_ones_note);
        return;
    }
    add_figure(m, m->initial->mean, fixed ? "fixed, at any weights" : "at initial weights", scale,
               t);
    if (fixed) return;
    if (v->trained) add_trained(c, v, m, scale, t);
    else if (v->untrained.status) add_none(&v->untrained, t);
    else add_figure(m, m->random->mean, "at random weights", scale, t);
}

static void mixing_add_variant(const Comparison *c, const Variant *v, const Map *m, double scale,
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
               "%s Tokens are %s. One colour scale for all; what is beyond it has the strongest "
               "colour.",
               depth_map_note,
               c->mixing ? "random sources, and those of the validation text where it was trained"
                         : "random sources");
    page_heading(t, "Depth mixing", note);
}

/* A few weights of one variant, ten times the others', would leave all others pale. */
static double colour_scale(const Comparison *c, const Map *map, Text *t) {
    size_t cells = 1;
    int n = 0;
    for (int i = 0; i < c->n; i++)
        if (map[i].initial)
            cells += 2 * (size_t)map[i].initial->size * (size_t)map[i].initial->size;
    double *x = malloc(cells * sizeof *x);
    for (int i = 0; x && i < c->n; i++) {
        n += sizes(map[i].initial, x + n);
        if (map[i].initial) n += sizes(c->variant[i].trained, x + n);
    }
    double most = stats_quantile(x, n, 1), usual = stats_quantile(x, n, 0.95);
    if (!x) t->failed = true;
    free(x);
    return !n ? 1 : most > 2 * usual ? usual : most;
}

void page_mixing(const Comparison *c, Text *t) {
    Map *map = calloc((size_t)c->n, sizeof *map);
    if (!map) t->failed = true;
    for (int i = 0; map && i < c->n; i++)
        if (!open_map(&c->variant[i], &map[i])) t->failed = true;
    double scale = map ? colour_scale(c, map, t) : 1;
    add_note(c, t);
    text_add(t, "<figure class=\"scale\">");
    chart_scale(scale, true, t);
    text_add(t, "</figure>\n");
    for (int i = 0; map && i < c->n && !t->failed; i++)
        mixing_add_variant(c, &c->variant[i], &map[i], scale, t);
    for (int i = 0; map && i < c->n; i++)
        close_map(&map[i]);
    free(map);
}
