/* SPDX-License-Identifier: MIT
** What a kernel's work is in the steps that are measured. */
#include "bench.h"

/* A kernel's work in what is measured. */
const strata_work *bench_work(const Bench *b, const strata_kernel *k) {
    return b->mode == BENCH_OF_TRAIN ? &k->training : &k->forward;
}

Cost bench_cost(const Bench *b, const strata_kernel *k) {
    strata_work w = *bench_work(b, k);
    double batch = (double)b->batch, length = (double)b->length;
    if (k->used & STRATA_SOME) {
        w.flops_per_token *= b->share, w.bytes_per_token *= b->share;
        w.flops_per_pair *= b->share * b->share;
    }
    if (b->mode == BENCH_OF_TRAIN) return work_cost(&w, batch, length);
    if (b->mode == BENCH_OF_PREFILL) { /* one prompt after the other */
        Cost c = prompt_cost(&w, length);
        return (Cost){ batch * c.flops, batch * c.bytes };
    }
    Cost c = work_cost(&w, batch, 1); /* one query, keys: half of what is decoded */
    c.flops += w.flops_per_pair * batch * ((double)b->prompt + 0.5 * length);
    return c;
}
