/* SPDX-License-Identifier: MIT
** See data_order.h. */
#include "data_order.h"

#include <string.h>

#include "permutation.h"
#include "random.h"

typedef unsigned __int128 Wide; /* rows of a run: steps times rows */

enum { SHARE_BITS = 53, TURN_ROW = 0x7475726e };
#define ALL (UINT64_C(1) << SHARE_BITS)

const char *const order_names[ORDER_KINDS] = { "random", "sequential", "shuffled" };

OrderKind order_called(const char *name) {
    OrderKind kind = ORDER_KINDS - 1;
    while (kind > 0 && strcmp(order_names[kind], name))
        kind--;
    return kind;
}

/* == Sources ============================================================== */

/* Of the first n rows, those that a share gets: share * n, begun at 'phase', both in parts of
** ALL. */
static Wide data_order_rows_of(uint64_t share, uint64_t phase, Wide n) {
    Wide whole = n >> SHARE_BITS, rest = n & (ALL - 1);
    return whole * share + ((rest * share + phase) >> SHARE_BITS);
}

/* What source i takes of the rows that those before it leave. */
static uint64_t data_order_share_of(const Data *d, int i) {
    double left = 0;
    for (int k = d->sources - 1; k >= i; k--)
        left += d->source[k].weight;
    return i == d->sources - 1 ? ALL : (uint64_t)(d->source[i].weight / left * (double)ALL);
}

static uint64_t phase_of(const DataOrder *o, int i) {
    return random_below(o->seed, (uint64_t)i, TURN_ROW, ALL);
}

/* The source of row n of a run, and in *n how many rows it had before. */
static int source_of(const Data *d, const DataOrder *o, Wide *n) {
    for (int i = 0; i < d->sources - 1; i++) {
        uint64_t share = data_order_share_of(d, i), phase = phase_of(o, i);
        Wide before = data_order_rows_of(share, phase, *n);
        if (data_order_rows_of(share, phase, *n + 1) > before) {
            *n = before;
            return i;
        }
        *n -= before;
    }
    return d->sources - 1;
}

/* == Windows ============================================================== */

DataPlace data_place(const Data *d, const DataOrder *o, int64_t step, int64_t row) {
    Wide n = (Wide)(uint64_t)step * (uint64_t)o->rows + (uint64_t)row;
    int source = source_of(d, o, &n);
    int64_t count = d->source[source].count;
    if (o->kind == ORDER_RANDOM)
        return (DataPlace){ source,
                            (int64_t)random_below(o->seed, (uint64_t)step, (uint32_t)row,
                                                  (uint64_t)(count - o->context)) };
    uint64_t windows = (uint64_t)((count - 1) / o->context), i = (uint64_t)(n % windows);
    if (o->kind == ORDER_SHUFFLED) {
        Permutation p = { windows, o->seed, (uint32_t)source, (uint64_t)(n / windows) };
        i = permutation_at(&p, i);
    }
    return (DataPlace){ source, (int64_t)i * o->context };
}

int data_rows(const Data *d, const DataOrder *o, int64_t step, int64_t first, int64_t count,
              int32_t *tokens, int32_t *targets, Error *e) {
    int64_t n = o->context;
    for (int64_t r = 0; r < count; r++, tokens += n, targets += n) {
        DataPlace at = data_place(d, o, step, first + r);
        int status = data_read(d, at.source, at.start, n, tokens, e);
        if (!status) status = data_read(d, at.source, at.start + n, 1, targets + n - 1, e);
        if (status) return status;
        memcpy(targets, tokens + 1, (size_t)(n - 1) * sizeof *targets);
    }
    return STATUS_OK;
}

double data_epochs(const Data *d, const DataOrder *o, int source, int64_t steps) {
    Wide left = (Wide)(uint64_t)steps * (uint64_t)o->rows, rows = left;
    for (int i = 0; i <= source; i++, left -= rows)
        rows = data_order_rows_of(data_order_share_of(d, i), phase_of(o, i), left);
    int64_t count = d->source[source].count;
    double each = o->kind == ORDER_RANDOM ? (double)count / (double)o->context
                                          : (double)((count - 1) / o->context);
    return (double)rows / each;
}
