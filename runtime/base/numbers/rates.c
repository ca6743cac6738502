/* SPDX-License-Identifier: MIT
** See rates.h. */
#include "rates.h"

#include <string.h>

static double time_of(double work, double rate) { return rate > 0 ? work / rate : 0; }

double rates_seconds(const Rates *r, const char *family, RateWork w) {
    bool product = !strcmp(family, "product");
    double flops = product ? r->products : !strcmp(family, "row") ? r->rows : r->sequences;
    double functions = product ? r->products / 2 : r->functions;
    double arithmetic = time_of(w.flops, flops) + time_of(w.functions, functions),
           moving = time_of(w.bytes, r->memory);
    return arithmetic > moving ? arithmetic : moving;
}

/* Of cores at 3 GHz whose vector unit does 16 multiply-adds a cycle, or 4 where vectors have 4
** floats, a quarter of that as additions and products of row kernels, which are loaded and stored;
** memory gives several little more than one.  In tiles products of float32 were 1.5 times as
** fast. */
Rates rates_default(int lanes, bool tiles, int threads) {
    double adds = 3e9 * (lanes > 4 ? 16 : 4) * threads;
    return (Rates){ .products = 2 * 0.85 * adds * (tiles ? 1.5 : 1),
                    .sequences = 2 * 0.65 * adds,
                    .rows = 0.25 * adds,
                    .functions = 0.5 * adds,
                    .memory = threads > 1 ? 30e9 : 20e9,
                    .waiting = threads > 1 ? 0.02 : 0,
                    .threads = threads };
}
