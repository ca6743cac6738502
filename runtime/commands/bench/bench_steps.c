/* SPDX-License-Identifier: MIT
** One step of what is measured, and the median of several. */
#include "bench.h"

#include <stdlib.h>

static int train_step(Bench *b, void *ctx, int64_t step, Error *e) {
    Session *s = &b->s;
    const strata_model *m = s->m;
    strata_loss loss = { .struct_size = sizeof loss };
    double squares;
    int status = session_check(s,
                               s->api->forward_backward(ctx, s->weights.at, s->train.at,
                                                        s->arena.at, b->tokens, b->targets,
                                                        b->batch, b->length, 1.0f, s->packed, NULL,
                                                        NULL, &loss),
                               "forward_backward", e);
    if (!status)
        status = session_check(s, s->api->sum_squares(ctx, s->train.at, 0, m->gradients, &squares),
                               "sum_squares", e);
    if (!status) status = session_update(s, ctx, m->lr, 1, step, e);
    return status;
}

int bench_prefill(Bench *b, void *ctx, int64_t length, Error *e) {
    Session *s = &b->s;
    int status = STATUS_OK;
    for (int64_t i = 0; i < b->batch && !status; i++) {
        status = session_check(s, s->api->state_init(ctx, b->states[i], s->m->context),
                               "state_init", e);
        if (!status)
            status = session_check(s,
                                   s->api->prefill(ctx, s->weights.at, b->states[i], s->arena.at,
                                                   b->tokens + i * length, length, b->logits),
                                   "prefill", e);
    }
    return status;
}

int bench_step(Bench *b, void *ctx, int64_t step, double *seconds, Error *e) {
    double start = machine_now();
    int status = b->mode == BENCH_OF_TRAIN ? train_step(b, ctx, step, e)
                                           : bench_prefill(b, ctx, b->length, e);
    if (seconds) *seconds = machine_now() - start;
    return status;
}

static int bench_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *x, int64_t n) {
    qsort(x, (size_t)n, sizeof *x, bench_compare);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}
