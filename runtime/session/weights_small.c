/* SPDX-License-Identifier: MIT
** See weights_small.h. */
#include "weights_small.h"

#include <stdlib.h>
#include <string.h>

#include "small_round.h"
#include "weights.h"

int weights_small_bits(const strata_tensor *t) {
    return t->type == STRATA_Q8 ? 8 : t->type == STRATA_Q4 ? 4 : 0;
}

const char *weights_small_name(const strata_model *m) {
    return m->small == STRATA_Q8 ? "q8" : m->small == STRATA_Q4 ? "q4" : NULL;
}

const char *state_cache_name(const strata_model *m) {
    return m->cache == STRATA_Q8 ? "q8" : m->cache == STRATA_BF16 ? "bf16" : NULL;
}

/* A tensor as matrices, one for each expert, and where a panel's rows come from. */
typedef struct Source {
    const strata_model *m; /* NULL: of a file */
    uint64_t seed;
    const Safetensors *s;
    const Tensor *from;
    const strata_tensor *t;
} Source;

/* Rows 'row' and on of all of the tensor, as floats. */
static int take_rows(const Source *x, int64_t row, int64_t rows, float *to, Error *e) {
    int64_t steps = x->t->shape[x->t->rank - 1];
    if (x->s) return safetensors_read_some_f32(x->s, x->from, row * steps, rows * steps, to, e);
    weights_initial(x->m, x->t, x->seed, row * steps, rows * steps, to);
    return STATUS_OK;
}

static int put_panel(const Source *x, int64_t row, int64_t rows, float *room, uint8_t *panel,
                     Error *e) {
    int bits = weights_small_bits(x->t);
    int64_t steps = x->t->shape[x->t->rank - 1];
    int status = take_rows(x, row, rows, room, e);
    memset(panel, 0, (size_t)small_panel(steps, bits));
    for (int64_t r = 0; !status && r < rows; r++)
        if (!small_put_column(panel, steps, r, bits, room + r * steps))
            status = error_set(e, STATUS_USER,
                               "%s:%s: expected weights below 65504 in groups of %d, found larger "
                               "ones in row %lld",
                               x->s ? x->s->path : "initial values", x->from ? x->from->name : "",
                               GROUP, (long long)(row + r));
    return status;
}

static int put_all(const Source *x, float *w, Error *e) {
    const strata_tensor *t = x->t;
    int64_t steps = t->shape[t->rank - 1], columns = t->shape[t->rank - 2],
            size = small_panel(steps, weights_small_bits(t));
    float *room = malloc((size_t)(PANEL_COLUMNS * steps) * sizeof *room);
    if (!room) return error_memory(e, "weights", (size_t)(PANEL_COLUMNS * steps) * sizeof *room);
    uint8_t *panel = (uint8_t *)w;
    int status = STATUS_OK;
    for (int64_t row = 0, rows, left; !status && row < t->count / steps; row += rows) {
        left = columns - row % columns;
        rows = left < PANEL_COLUMNS ? left : PANEL_COLUMNS;
        status = put_panel(x, row, rows, room, panel, e);
        panel += size;
    }
    free(room);
    return status;
}

bool weights_small_init(const strata_model *m, const strata_tensor *t, uint64_t seed, float *w) {
    Error e = { 0 };
    return !put_all(&(Source){ .m = m, .seed = seed, .t = t }, w, &e);
}

int weights_small_read(const strata_tensor *t, const Safetensors *s, const Tensor *from, float *w,
                       Error *e) {
    return put_all(&(Source){ .s = s, .from = from, .t = t }, w, e);
}
