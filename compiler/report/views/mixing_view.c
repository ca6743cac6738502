/* SPDX-License-Identifier: MIT
** The depth-mixing matrix as text, JSON and picture, at initial weights and at random ones, with
** the rank of its blocks; mixing.h defines all of this.
*/
#include "mixing.h"
#include "mixing_graph.h"
#include "views.h"
#include "depth_map.h"

#include <math.h>
#include <stdlib.h>

enum { SYMBOLIC = 6 }; /* reads that are written in symbols */

typedef struct Matrices {
    const Report *r;
    Mixing *initial, *random;
    MixingKind kind;
    int *rank;                /* by block, on random weights */
    int most, dense;          /* the largest rank, and what it could be */
    double scale;             /* the largest initial entry */
    const char **site;        /* of reads */
    char (*name)[DEPTH_NAME]; /* short ones */
    bool *boundary;           /* of blocks, at random weights, which are double precision */
} Matrices;

#define ALIKE 1e-6

static int open_matrices(Matrices *x, const Report *r, Error *e) {
    *x = (Matrices){ .r = r, .scale = 1e-9 };
    x->initial = mixing_measure(r->model, WEIGHTS_INITIAL, MIXING_SEED, e);
    x->random = x->initial ? mixing_measure(r->model, WEIGHTS_RANDOM, MIXING_SEED, e) : NULL;
    x->rank = x->random ? calloc((size_t)x->random->size + 1, sizeof *x->rank) : NULL;
    if (!x->random) return e->status;
    x->site = calloc((size_t)r->model->nread + 1, sizeof *x->site);
    x->boundary = calloc((size_t)r->model->nread + 1, sizeof *x->boundary);
    x->name = calloc((size_t)r->model->nread + 1, sizeof *x->name);
    if (!x->rank || !x->site || !x->name || !x->boundary)
        return error_memory(e, "depth mixing", (size_t)x->random->size * sizeof *x->rank);
    x->kind = mixing_kind(x->initial, x->random);
    for (int k = 0; k < x->random->size; k++) {
        x->rank[k] = mixing_rank(x->random, k);
        x->most = x->rank[k] > x->most ? x->rank[k] : x->most;
        x->dense = mixing_dense(x->random->size, k) > x->dense ? mixing_dense(x->random->size, k)
                                                               : x->dense;
    }
    for (int i = 0; i < r->model->nread; i++)
        x->site[i] = r->model->read[i].site;
    depth_names(x->site, r->model->nread, x->name);
    depth_blocks(x->random->mean, x->random->size, ALIKE, x->boundary);
    for (int i = 0; i < x->initial->size * x->initial->size; i++)
        x->scale = fmax(x->scale, fabs(x->initial->mean[i]));
    return STATUS_OK;
}

static void close_matrices(Matrices *x) {
    mixing_free(x->initial);
    mixing_free(x->random);
    free(x->rank), free(x->site), free(x->name), free(x->boundary);
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

/* A line may have so many characters; of a read of a larger matrix the largest entries are told. */
enum { LINE = 120, READ = 6, ENTRY = 8, LARGEST = 10 };

static const char *source_name(const Matrices *x, int s) { return s ? x->name[s - 1] : "e"; }

static void add_all(const Matrices *x, const Mixing *m, Text *t) {
    text_add(t, "%-*s", READ, "read");
    for (int s = 0; s < m->size; s++)
        text_add(t, "%*s", ENTRY, source_name(x, s));
    text_add(t, "%*s\n", ENTRY, "sum");
    for (int r = 0; r < m->size; r++) {
        text_add(t, "%-*s", READ, x->name[r]);
        for (int s = 0; s < m->size; s++)
            if (s <= r) text_add(t, " %*s", ENTRY - 1, FIGURES(m->mean[r * m->size + s], 3));
            else text_add(t, "%*s", ENTRY, ".");
        text_add(t, " %*s\n", ENTRY - 1, FIGURES(row_sum(m, r), 3));
    }
}

/* The source of the largest entry that is smaller than source 'last's, or as large and newer; -1:
** none. */
static int next_largest(const double *row, int n, int last) {
    int best = -1;
    for (int s = 0; s < n; s++) {
        double own = fabs(row[s]), most = last < 0 ? INFINITY : fabs(row[last]);
        if (!(own > 0) || own > most || (own == most && s >= last)) continue;
        if (best < 0 || own >= fabs(row[best])) best = s;
    }
    return best;
}

static void add_largest(const Matrices *x, const Mixing *m, Text *t) {
    text_add(t, "%-*s%*s  the %d largest entries; --json has all, -o FILE.svg draws them\n", READ,
             "read", ENTRY, "sum", LARGEST);
    for (int r = 0; r < m->size; r++) {
        const double *row = m->mean + (int64_t)r * m->size;
        text_add(t, "%-*s %*s", READ, x->name[r], ENTRY - 1, FIGURES(row_sum(m, r), 3));
        for (int i = 0, s = -1; i < LARGEST && (s = next_largest(row, r + 1, s)) >= 0; i++)
            text_add(t, "  %s %s", source_name(x, s), FIGURES(row[s], 2));
        text_add(t, "\n");
    }
}

static void add_matrix(const Matrices *x, const Mixing *m, Text *t) {
    if (READ + ENTRY * (m->size + 1) <= LINE) add_all(x, m, t);
    else add_largest(x, m, t);
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
static void add_formulas(const Matrices *x, MixingGraph *graph, int r, Text *t) {
    const Model *m = x->r->model;
    mixing_graph_read(graph, r);
    text_add(t, "%s\n", m->read[r].site);
    for (int s = 0; s <= r; s++) {
        text_add(t, "  %-4s", source_name(x, s));
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
        add_formulas(x, graph, r, t);
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

enum { EDGE = 500, TOP = 96, TITLE = 30, GAP = 12 };
static const double zoom = (double)EDGE / CHART_WIDTH;

/* Moved and enlarged from CHART_WIDTH. */
static void open_part(double top, Text *t) {
    text_add(t, "<g transform=\"translate(%d %.1f)scale(%.4f)\">\n", (SVG_WIDTH - EDGE) / 2, top,
             zoom);
}

/* Returns how high it is. */
static double draw_map(const Matrices *x, const Mixing *m, const char *title, double top, Text *t) {
    const DepthMap map = { .weight = m->mean,
                           .size = m->size,
                           .read = x->site,
                           .scale = x->scale,
                           .boundary = x->boundary };
    svg_text(t, (SVG_WIDTH - EDGE) / 2.0 + 52 * zoom, top + 18, "name", "start", 60, title);
    open_part(top + TITLE, t);
    double height = depth_map_inside(&map, t);
    text_add(t, "</g>\n");
    return TITLE + zoom * height + GAP;
}

static void draw_heads(const Matrices *x, Text *t) {
    Text ranks = { 0 };
    char words[160];
    rank_text(x, &ranks);
    print_text(words, sizeof words, "entries are %s", kind_text(x->kind));
    svg_text(t, 16, 46, "soft", "start", 100, words);
    svg_text(t, 16, 62, "soft", "start", 100, ranks.at ? ranks.at : "");
    open_part(TOP - 22, t);
    chart_scale_bar(x->scale, true, t);
    text_add(t, "</g>\n");
    text_free(&ranks);
}

int report_matrix_svg(const Report *r, Text *t, Error *e) {
    Matrices x;
    char title[160];
    Text maps = { 0 };
    int status = open_matrices(&x, r, e);
    if (!status) {
        double y = TOP + 36;
        y += draw_map(&x, x.initial,
                      x.kind == MIXING_FIXED ? "at any weights" : "at initial weights", y, &maps);
        if (x.kind != MIXING_FIXED) y += draw_map(&x, x.random, "at random weights", y, &maps);
        print_text(title, sizeof title, "%.64s: depth mixing of %.32s", r->model->name,
                   r->model->mixer);
        svg_open(t, title, y);
        draw_heads(&x, t);
        text_bytes(t, maps.at ? maps.at : "", maps.length);
        if (maps.failed) t->failed = true;
        svg_close(t);
    }
    text_free(&maps);
    close_matrices(&x);
    return status;
}
