/* SPDX-License-Identifier: MIT
** The depth-mixing matrix as text, JSON and picture, at initial weights and at
** random ones, with the rank of its blocks; mixing.h says what all of it is.
*/
#include "mixing.h"
#include "mixing_graph.h"
#include "views.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>

enum { SYMBOLIC = 6 }; /* reads that are written in symbols */

typedef struct Matrices {
    const Report *r;
    Mixing *initial, *random;
    MixingKind kind;
    int *rank;       /* by block, on random weights */
    int most, dense; /* the largest rank, and what it could be */
    double scale;    /* the largest initial entry */
} Matrices;

static int open_matrices(Matrices *x, const Report *r, Error *e) {
    *x = (Matrices){ .r = r, .scale = 1e-9 };
    x->initial = mixing_measure(r->model, WEIGHTS_INITIAL, MIXING_SEED, e);
    x->random = x->initial ? mixing_measure(r->model, WEIGHTS_RANDOM, MIXING_SEED, e) : NULL;
    x->rank = x->random ? calloc((size_t)x->random->size + 1, sizeof *x->rank) : NULL;
    if (!x->random) return e->status;
    if (!x->rank) return error_memory(e, "depth mixing", (size_t)x->random->size * sizeof *x->rank);
    x->kind = mixing_kind(x->initial, x->random);
    for (int k = 0; k < x->random->size; k++) {
        x->rank[k] = mixing_rank(x->random, k);
        x->most = x->rank[k] > x->most ? x->rank[k] : x->most;
        x->dense = mixing_dense(x->random->size, k) > x->dense ? mixing_dense(x->random->size, k)
                                                               : x->dense;
    }
    for (int i = 0; i < x->initial->size * x->initial->size; i++)
        x->scale = fmax(x->scale, fabs(x->initial->mean[i]));
    return STATUS_OK;
}

static void close_matrices(Matrices *x) {
    mixing_free(x->initial);
    mixing_free(x->random);
    free(x->rank);
}

static const char *const depends[] = { "nothing", "parameters", "data" };

static const char *kind_text(MixingKind k) {
    static const char *const text[] = {
        "fixed: the same whatever the weights and the data",
        "learned: a function of parameters, the same for every token",
        "measured: they depend on what is read, token by token",
    };
    return text[k];
}

static double row_sum(const Mixing *x, int r) {
    double sum = 0;
    for (int s = 0; s < x->size; s++)
        sum += x->mean[r * x->size + s];
    return sum;
}

static void rank_text(const Matrices *x, Text *t) {
    text_add(t, "rank of the blocks below the diagonal, random weights: %d at most, of %d possible",
             x->most, x->dense);
    text_add(t,
             x->most == x->dense ? " (dense)"
                 : x->most == 1  ? " (1-semiseparable)"
                                 : " (%d-semiseparable)",
             x->most);
}

/* == Text ================================================================= */

static void add_matrix(const Matrices *x, const Mixing *m, Text *t) {
    text_add(t, "%-22s%8s", "read", "e");
    for (int s = 1; s < m->size; s++)
        text_add(t, "%8d", s - 1);
    text_add(t, "     sum\n");
    for (int r = 0; r < m->size; r++) {
        text_add(t, "%-22.22s", x->r->model->read[r].site);
        for (int s = 0; s < m->size; s++)
            if (s <= r) text_add(t, " %7.3g", m->mean[r * m->size + s]);
            else text_add(t, "%8s", ".");
        text_add(t, " %7.3g\n", row_sum(m, r));
    }
}

static void add_ranks(const Matrices *x, Text *t) {
    rank_text(x, t);
    text_add(t, "\n  by block:");
    for (int k = 0; k < x->random->size;) {
        int n = k;
        while (n < x->random->size && x->rank[n] == x->rank[k])
            n++;
        text_add(t, n - k > 1 ? " %dx%d" : " %d", x->rank[k], n - k);
        k = n;
    }
    text_add(t, "\n");
}

/* Formulas of a read's entries, where there are any. */
static void add_formulas(const Model *m, MixingGraph *graph, int r, Text *t) {
    mixing_graph_read(graph, r);
    text_add(t, "%s\n", m->read[r].site);
    for (int s = 0; s <= r; s++) {
        if (s) text_add(t, "  %-4d", s - 1);
        else text_add(t, "  %-4s", "e");
        if (!mixing_symbol(graph, r, s, t)) text_add(t, "a longer function of parameters");
        text_add(t, "\n");
    }
}

/* Of the first reads: what follows them goes on alike. */
static void add_symbols(const Matrices *x, Text *t) {
    const Model *m = x->r->model;
    MixingGraph *graph = mixing_graph_new(m, 1);
    int reads = x->initial->size < SYMBOLIC ? x->initial->size : SYMBOLIC;
    text_add(t, "\nIn symbols%s\n", reads < x->initial->size ? ", the first reads" : "");
    for (int r = 0; r < reads; r++)
        add_formulas(m, graph, r, t);
    mixing_graph_free(graph);
}

int report_matrix_text(const Report *r, Text *t, Error *e) {
    Matrices x;
    int status = open_matrices(&x, r, e);
    if (!status) {
        text_add(
            t,
            "%s, residual %s: the weight with which each read takes each source, the embedding e\n",
            r->model->name, r->model->mixer);
        text_add(t,
                 "and the sublayers' outputs, over %d channels and %d tokens of random sources\n",
                 (int)r->model->dim, x.initial->samples);
        text_add(t, "entries are %s\n", kind_text(x.kind));
        add_ranks(&x, t);
        text_add(t, "\nAt initial weights\n");
        add_matrix(&x, x.initial, t);
        if (x.kind != MIXING_DATA) add_symbols(&x, t);
        if (x.kind != MIXING_FIXED)
            text_add(t, "\nAt random weights\n"), add_matrix(&x, x.random, t);
    }
    close_matrices(&x);
    return status;
}

/* == JSON ================================================================= */

/* null where there is no formula. */
static void json_symbols(const Matrices *x, Text *t) {
    MixingGraph *graph = mixing_graph_new(x->r->model, 1);
    Text one = { 0 };
    text_add(t, ",\n \"symbols\": [");
    for (int r = 0; r < x->initial->size && r < SYMBOLIC; r++) {
        mixing_graph_read(graph, r);
        text_add(t, r ? ",\n  [" : "\n  [");
        for (int s = 0; s <= r; s++) {
            text_clear(&one);
            if (s) text_add(t, ", ");
            if (mixing_symbol(graph, r, s, &one)) text_json_string(t, one.at);
            else text_add(t, "null");
        }
        text_add(t, "]");
    }
    text_add(t, "]");
    text_free(&one);
    mixing_graph_free(graph);
}

static void json_matrix(Text *t, const char *name, const Mixing *m) {
    text_add(t, ",\n \"%s\": [", name);
    for (int r = 0; r < m->size; r++) {
        text_add(t, r ? ",\n  [" : "\n  [");
        for (int s = 0; s < m->size; s++) {
            if (s) text_add(t, ", ");
            text_json_number(t, m->mean[r * m->size + s]);
        }
        text_add(t, "]");
    }
    text_add(t, "]");
}

int report_matrix_json(const Report *r, Text *t, Error *e) {
    Matrices x;
    int status = open_matrices(&x, r, e);
    if (!status) {
        text_add(t, "{\"spec\": ");
        text_json_string(t, r->model->name);
        text_add(t, ", \"residual\": ");
        text_json_string(t, r->model->mixer);
        text_add(t, ",\n \"depends_on\": \"%s\", \"rank\": %d, \"rank_dense\": %d, \"ranks\": [",
                 depends[x.kind], x.most, x.dense);
        for (int k = 0; k < x.random->size; k++)
            text_add(t, k ? ", %d" : "%d", x.rank[k]);
        text_add(t, "]");
        json_matrix(t, "depth_mixing", x.initial);
        json_matrix(t, "depth_mixing_random", x.random);
        if (x.kind != MIXING_DATA) json_symbols(&x, t);
        text_add(t, "}\n");
    }
    close_matrices(&x);
    return status;
}

/* == Picture ============================================================== */

enum { LEFT = 96, EDGE = 500, LEVELS = 24, TOP = 130, BELOW = 74 };

static int level_of(double value, double scale) {
    double part = fabs(value) / scale;
    return (int)lround(LEVELS * fmin(part, 1));
}

/* All cells of one sign and shade are one path. */
static void draw_shade(const Mixing *m, double scale, double top, int level, bool negative,
                       Text *t) {
    double cell = (double)EDGE / m->size;
    bool open = false;
    for (int r = 0; r < m->size; r++)
        for (int s = 0; s <= r; s++) {
            double v = m->mean[r * m->size + s];
            if (level_of(v, scale) != level || (v < 0) != negative) continue;
            if (!open)
                text_add(t, "<path class=\"c%d\" fill-opacity=\"%.3f\" d=\"", negative ? 0 : 5,
                         (double)level / LEVELS);
            open = true;
            text_add(t, "M%.1f %.1fh%.1fv%.1fh-%.1fz", LEFT + s * cell, top + r * cell, cell, cell,
                     cell);
        }
    if (open) text_add(t, "\"/>\n");
}

static void draw_axes(const Matrices *x, double top, Text *t) {
    int size = x->initial->size, step = (int)fmax(svg_tick(size, 8, false), 1);
    double cell = (double)EDGE / size;
    text_add(t, "<path class=\"line\" d=\"M%d %.1fv%dh%d\"/>\n", LEFT, top, EDGE, EDGE);
    for (int i = 0; i < size; i += step) {
        char name[16];
        print_text(name, sizeof name, "%d", i);
        svg_text(t, LEFT - 8, top + (i + 0.5) * cell + 4, "soft", "end", 8, name);
        svg_text(t, LEFT + (i + 0.5) * cell, top + EDGE + 16, "soft", "middle", 8, i ? name : "e");
    }
    svg_text(t, LEFT + EDGE / 2.0, top + EDGE + 36, "soft", "middle", 80,
             "source: the embedding e, then output i of the sublayers, from 1");
    svg_vertical(t, 40, top + EDGE / 2.0,
                 "read: before sublayer i + 1; the last is the final read");
}

static void draw_map(const Matrices *x, const Mixing *m, const char *title, double top, Text *t) {
    svg_text(t, LEFT, top - 12, "name", "start", 60, title);
    for (int level = 1; level <= LEVELS; level++)
        for (int negative = 0; negative < 2; negative++)
            draw_shade(m, x->scale, top, level, negative, t);
    draw_axes(x, top, t);
}

/* The colours and what they stand for. */
static void draw_scale(const Matrices *x, Text *t) {
    char text[64], number[32];
    for (int i = -LEVELS; i <= LEVELS; i++)
        text_add(t,
                 "<rect x=\"%.1f\" y=\"70\" width=\"4.1\" height=\"12\" class=\"c%d\" "
                 "fill-opacity=\"%.3f\"/>\n",
                 LEFT + 60 + 4.0 * (i + LEVELS), i < 0 ? 0 : 5, fabs((double)i) / LEVELS);
    print_text(number, sizeof number, "%.3g", x->scale);
    print_text(text, sizeof text, "\xe2\x88\x92%s", number);
    svg_text(t, LEFT + 54, 81, "soft", "end", 20, text);
    print_text(text, sizeof text, "%s and more: weight of a source in a read", number);
    svg_text(t, LEFT + 60 + 4.0 * (2 * LEVELS + 1) + 8, 81, "soft", "start", 60, text);
}

int report_matrix_svg(const Report *r, Text *t, Error *e) {
    Matrices x;
    char title[160];
    Text ranks = { 0 };
    int status = open_matrices(&x, r, e);
    if (!status) {
        bool two = x.kind != MIXING_FIXED;
        print_text(title, sizeof title, "%.64s: depth mixing of %.32s", r->model->name,
                   r->model->mixer);
        svg_open(t, title, TOP + (two ? 2 : 1) * (EDGE + BELOW));
        rank_text(&x, &ranks);
        print_text(title, sizeof title, "entries are %s", kind_text(x.kind));
        svg_text(t, 16, 46, "soft", "start", 100, title);
        svg_text(t, 16, 62, "soft", "start", 100, ranks.at ? ranks.at : "");
        draw_scale(&x, t);
        draw_map(&x, x.initial, "at initial weights", TOP, t);
        if (two) draw_map(&x, x.random, "at random weights", TOP + EDGE + BELOW, t);
        svg_close(t);
    }
    text_free(&ranks);
    close_matrices(&x);
    return status;
}
