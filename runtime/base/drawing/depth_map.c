/* SPDX-License-Identifier: MIT
** See depth_map.h. */
#include "depth_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "site.h"

const char depth_ones_note[] =
    "All ones, by construction: every read is the sum of the embedding and of all outputs before "
    "it, whatever the weights. There is nothing to draw.";

const char depth_map_note[] =
    "A row is a read, a column a source: e the embedding, 3a the output of layer 3\xe2\x80\x99s "
    "attention, 3m of its mlp; out is the final read. A cell is the weight with which the read "
    "takes the source, a mean over channels and tokens, shaded by the square root; pointing at it "
    "tells the number. Dashed lines part blocks, sources that the final read takes alike.";

enum { LETTERS_MOST = 6 };

/* == Names ================================================================ */

/* Do these letters of two kinds tell them apart, if they are different? */
static bool told_apart(const char *const *site, int n, int letters) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            if (site_layer(site[i]) < 0 || site_layer(site[k]) < 0) continue;
            const char *a = site_inside(site[i]), *b = site_inside(site[k]);
            if (strcmp(a, b) && !strncmp(a, b, (size_t)letters)) return false;
        }
    return true;
}

void depth_names(const char *const *site, int n, char (*to)[DEPTH_NAME]) {
    int letters = 1;
    while (letters < LETTERS_MOST && !told_apart(site, n, letters))
        letters++;
    for (int i = 0; i < n; i++)
        if (site_layer(site[i]) >= 0)
            print_text(to[i], DEPTH_NAME, "%d%.*s", site_layer(site[i]), letters,
                       site_inside(site[i]));
        else if (i == n - 1) print_text(to[i], DEPTH_NAME, "out");
        else print_text(to[i], DEPTH_NAME, "%.5s", site_last(site[i]));
}

/* Sublayers of the first layer. */
static int period_of(const DepthMap *m) {
    int n = 0;
    while (n < m->size && site_layer(m->read[n]) == site_layer(m->read[0]))
        n++;
    return n;
}

/* == Blocks =============================================================== */

bool depth_blocks(const double *weight, int size, double tolerance, bool *to) {
    const double *last = weight + (int64_t)(size - 1) * size;
    int runs = 0;
    for (int i = 0; i < size; i++) {
        double most = i ? fmax(fabs(last[i]), fabs(last[i - 1])) : 0;
        to[i] = i && fabs(last[i] - last[i - 1]) > tolerance * most;
        runs += to[i];
    }
    bool blocks = runs > 0 && runs < size - 1;
    if (!blocks) memset(to, 0, (size_t)size * sizeof *to);
    return blocks;
}

bool depth_all_ones(const double *weight, int size, double tolerance) {
    for (int r = 0; r < size; r++)
        for (int s = 0; s < size; s++)
            if (!(fabs(weight[(int64_t)r * size + s] - (s <= r)) <= tolerance)) return false;
    return size > 0;
}

/* == The picture ========================================================== */

/* Names of a map as its heat map needs them, in one block. */
typedef struct NamedMap {
    HeatMap map;
    char (*name)[DEPTH_NAME];
    const char **list;
} NamedMap;

static bool open_names(NamedMap *x, const DepthMap *m) {
    size_t n = (size_t)m->size;
    x->name = calloc(n + 1, sizeof *x->name);
    x->list = calloc(3 * n + 1, sizeof *x->list);
    if (!x->name || !x->list) return false;
    const char **row = x->list, **column = row + n, **said = column + n;
    depth_names(m->read, m->size, x->name);
    for (int i = 0; i < m->size; i++) {
        row[i] = x->name[i];
        column[i] = i ? x->name[i - 1] : "e";
        said[i] = i ? m->read[i - 1] : "the embedding";
    }
    x->map = (HeatMap){ .value = m->weight,
                        .rows = m->size,
                        .columns = m->size,
                        .scale = m->scale,
                        .root = true,
                        .label = m->label ? m->label : "depth-mixing matrix",
                        .across = "source: embedding e, outputs of sublayers",
                        .down = "read by",
                        .row = row,
                        .column = column,
                        .row_said = m->read,
                        .column_said = said,
                        .verb = "takes",
                        .lower = true,
                        .period = period_of(m),
                        .lead = 1,
                        .boundary = m->boundary,
                        .letter = m->letter };
    return true;
}

static void close_names(NamedMap *x) {
    free(x->name);
    free(x->list);
}

void depth_map(const DepthMap *m, Text *t) {
    NamedMap x = { 0 };
    if (!open_names(&x, m)) t->failed = true;
    else chart_heat_map(&x.map, t);
    close_names(&x);
}

double depth_map_inside(const DepthMap *m, Text *t) {
    NamedMap x = { 0 };
    double height = 0;
    if (!open_names(&x, m)) t->failed = true;
    else chart_heat_cells(&x.map, t), height = chart_heat_height(&x.map);
    close_names(&x);
    return height;
}
