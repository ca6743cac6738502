/* SPDX-License-Identifier: MIT
** See rates_fit.h.  The time of a row kernel is the longer of its arithmetic and its memory
** traffic, and which of them it is depends on the rates.  The fit starts with a first guess and
** alternates between two steps until nothing changes: it assigns each kernel's time to what takes
** most of it, then computes the rates from these times.
*/
#include "rates_fit.h"

#include <math.h>
#include <string.h>

enum { MOST_TURNS = 30 };

typedef struct Sum {
    double work, seconds;
} Sum;

static void rates_fit_add(Sum *s, double work, double seconds) {
    s->work += work;
    s->seconds += seconds;
}

/* 'otherwise': what little there is of says nothing. */
static double rate_of(Sum s, double otherwise) {
    return s.work > 0 && s.seconds > 0 ? s.work / s.seconds : otherwise;
}

/* Where a row kernel's time goes by these rates. */
static void rates_fit_add_row(Sum *rows, Sum *functions, Sum *memory, const Rates *r,
                              const TimedKernel *k) {
    double flops = k->work.flops / r->rows, function = k->work.functions / r->functions;
    if (k->work.bytes / r->memory >= flops + function)
        rates_fit_add(memory, k->work.bytes, k->seconds);
    else if (flops >= function) rates_fit_add(rows, k->work.flops, k->seconds - function);
    else rates_fit_add(functions, k->work.functions, k->seconds - flops);
}

/* Whether a rate changed. */
static bool row_turn(Rates *r, const TimedKernel *k, int n) {
    Rates before = *r;
    Sum rows = { 0 }, functions = { 0 }, memory = { 0 };
    for (int i = 0; i < n; i++)
        if (!strcmp(k[i].family, "row"))
            rates_fit_add_row(&rows, &functions, &memory, &before, &k[i]);
    r->rows = rate_of(rows, before.rows);
    r->functions = rate_of(functions, before.functions);
    r->memory = rate_of(memory, before.memory);
    return r->rows != before.rows || r->functions != before.functions || r->memory != before.memory;
}

/* What attention's exponentials take is left out, where that leaves something. */
static double own_seconds(const Rates *r, const TimedKernel *k) {
    double functions = k->work.functions / r->functions;
    return k->seconds - fmin(functions, k->seconds / 2);
}

bool rates_fit(Rates *r, const TimedKernel *k, int n, double peak) {
    Sum products = { 0 }, sequences = { 0 }, bytes = { 0 };
    for (int i = 0; i < n; i++) {
        if (!strcmp(k[i].family, "product"))
            rates_fit_add(&products, k[i].work.flops + 2 * k[i].work.functions, k[i].seconds);
        if (!strcmp(k[i].family, "row")) rates_fit_add(&bytes, k[i].work.bytes, k[i].seconds);
    }
    r->rows = peak / 8;
    r->functions = peak / 4;
    r->memory = rate_of(bytes, 0);
    for (int turn = 0; turn < MOST_TURNS && r->memory > 0 && row_turn(r, k, n); turn++) {
    }
    for (int i = 0; i < n; i++)
        if (!strcmp(k[i].family, "sequence"))
            rates_fit_add(&sequences, k[i].work.flops, own_seconds(r, &k[i]));
    r->products = rate_of(products, 0);
    r->sequences = rate_of(sequences, 0);
    return r->products > 0 && r->sequences > 0 && r->memory > 0;
}
