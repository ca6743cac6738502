/* SPDX-License-Identifier: MIT
** See weights_small.h. */
#include "weights_small.h"

#include <stdlib.h>
#include <string.h>

#include "weights.h"

int weights_small_bits(const strata_tensor *t) {
    return t->type == STRATA_Q8 ? 8 : t->type == STRATA_Q4 ? 4 : 0;
}

const char *weights_small_name(const strata_model *m) {
    return m->small == STRATA_Q8 ? small_name(8) : m->small == STRATA_Q4 ? small_name(4) : NULL;
}

const char *state_cache_name(const strata_model *m) {
    return m->cache == STRATA_Q8 ? "q8" : m->cache == STRATA_BF16 ? "bf16" : NULL;
}

int weights_small_expect(const strata_model *m, const Safetensors *s, bool *small, Error *e) {
    const char *own = weights_small_name(m), *name = strata_string(m, m->name);
    int bits, status = small_file_bits(s, &bits, e);
    *small = bits != 0;
    if (status || !bits || (own && !strcmp(own, small_name(bits)))) return status;
    if (own)
        return error_set(e, STATUS_USER,
                         "%s: expected weights that are rounded to %s, as %s was built, or not "
                         "rounded, found rounded to %s",
                         s->path, own, name, small_name(bits));
    return error_set(e, STATUS_USER,
                     "%s: expected weights that are not rounded, as %s was built without "
                     "--weights, found rounded to %s",
                     s->path, name, small_name(bits));
}

int weights_small_fits(const strata_tensor *t, const Safetensors *s, const Tensor *codes,
                       Error *e) {
    int bits = weights_small_bits(t);
    SmallMatrix x;
    int status = small_matrix(s, codes, &x, e);
    bool fits = !status && x.bits == bits && x.of.rank == t->rank;
    for (int d = 0; fits && d < t->rank; d++)
        fits = x.of.shape[d] == t->shape[d];
    if (status || fits) return status;
    char expected[TENSOR_TEXT], found[TENSOR_TEXT];
    return error_set(e, STATUS_USER, "%s:%s: expected %s %s, found %s %s", s->path, codes->name,
                     bits ? small_name(bits) : "floats", shape_print(expected, t->rank, t->shape),
                     small_name(x.bits), shape_print(found, x.of.rank, x.of.shape));
}

/* == Setting and reading ================================================== */

/* A tensor as matrices, one for each expert, and where a panel's rows come from. */
typedef struct Source {
    const strata_tensor *t;
    const strata_model *m; /* its initial values; NULL: of a file */
    uint64_t seed;
    const Safetensors *s;
    const Tensor *from;
    const SmallMatrix *codes; /* NULL: floats */
    float *room;              /* for a panel's rows */
} Source;

/* Groups of rows 'row' and on of all of the tensor. */
static int take_rows(const Source *x, int64_t row, int64_t rows, SmallGroup *g, Error *e) {
    int64_t steps = x->t->shape[x->t->rank - 1], groups = small_groups(steps);
    if (x->codes) return small_matrix_rows(x->s, x->codes, row, rows, g, e);
    int status = STATUS_OK;
    if (x->m) weights_initial(x->m, x->t, x->seed, row * steps, rows * steps, x->room);
    else status = safetensors_read_some_f32(x->s, x->from, row * steps, rows * steps, x->room, e);
    for (int64_t r = 0; !status && r < rows; r++)
        status = small_round_row(x->m ? "initial values" : x->s->path,
                                 x->m ? strata_string(x->m, x->t->name) : x->from->name, row + r,
                                 weights_small_bits(x->t), x->room + r * steps, steps,
                                 g + r * groups, e);
    return status;
}

static void put_panel(const strata_tensor *t, int64_t rows, const SmallGroup *g, uint8_t *panel) {
    int bits = weights_small_bits(t);
    int64_t steps = t->shape[t->rank - 1], groups = small_groups(steps);
    memset(panel, 0, (size_t)small_panel(steps, bits));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < groups; i++)
            small_put(panel, steps, r, i, bits, g++);
}

static int put_all(Source *x, float *w, Error *e) {
    const strata_tensor *t = x->t;
    int64_t steps = t->shape[t->rank - 1], columns = t->shape[t->rank - 2],
            size = small_panel(steps, weights_small_bits(t));
    size_t values = (size_t)(PANEL_COLUMNS * steps) * sizeof *x->room,
           groups = (size_t)(PANEL_COLUMNS * small_groups(steps)) * sizeof(SmallGroup);
    SmallGroup *g = malloc(groups);
    x->room = malloc(values);
    int status = g && x->room ? STATUS_OK : error_memory(e, "weights", values + groups);
    uint8_t *panel = (uint8_t *)w;
    for (int64_t row = 0, rows, left; !status && row < t->count / steps; row += rows) {
        left = columns - row % columns;
        rows = left < PANEL_COLUMNS ? left : PANEL_COLUMNS;
        status = take_rows(x, row, rows, g, e);
        if (!status) put_panel(t, rows, g, panel);
        panel += size;
    }
    free(g), free(x->room);
    return status;
}

bool weights_small_init(const strata_model *m, const strata_tensor *t, uint64_t seed, float *w) {
    Error e = { 0 };
    return !put_all(&(Source){ .t = t, .m = m, .seed = seed }, w, &e);
}

int weights_small_read(const strata_tensor *t, const Safetensors *s, const Tensor *from, float *w,
                       Error *e) {
    Source x = { .t = t, .s = s, .from = from };
    SmallMatrix codes;
    if (!small_code_bits(from)) return put_all(&x, w, e);
    int status = small_matrix(s, from, &codes, e);
    x.codes = &codes;
    return status ? status : put_all(&x, w, e);
}
