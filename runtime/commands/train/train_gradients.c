/* SPDX-License-Identifier: MIT
** Loss and gradients of a step: this rank's micro-batches forward and backward, and the sums over
** all micro-batches of all ranks.  What is summed is a function of the step and of how many
** micro-batches it has, not of which rank computes them.
*/
#include "train.h"

#include <string.h>

#include "random.h"
#include "ranks.h"
#include "sum_tree.h"

/* How uneven a statistic is: its largest number over their mean, 1 where all are 0. */
static double unevenness(const float *x, int64_t count) {
    double sum = 0, most = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i];
        if (x[i] > most) most = x[i];
    }
    return sum > 0 ? most * (double)count / sum : 1;
}

/* Of each buffer, whose statistic lies among the gradients. */
static void measure_loads(Run *r, TrainStep *x) {
    const strata_tensor *t = strata_tensors(r->p->m);
    x->load = r->load;
    for (int32_t i = 0; i < r->p->m->tensors; i++)
        if (t[i].decay < 0)
            r->load[x->loads++] = unevenness((const float *)r->s.train.at + t[i].gradient,
                                             t[i].count);
}

/* One micro-batch: its gradients, and its row of numbers, as parts of the step's means. */
static int micro_batch(Run *r, int64_t leaf, Error *e) {
    Session *s = &r->s;
    const Checkpoint *c = &r->state;
    double *row = r->numbers + leaf * step_numbers(r), parts = (double)c->accumulate;
    strata_loss loss = { .struct_size = sizeof loss,
                         .draw = random_draw(c->seed, (uint64_t)c->step),
                         .row = leaf * c->batch,
                         .routed = s->m->routed ? row + STEP_ROUTED : NULL };
    int status = data_rows(&r->data, &r->order, c->step, leaf * c->batch, c->batch, r->tokens,
                           r->targets, e);
    if (!status) status = step_sums_begin(&r->sums, leaf, e);
    if (status) return status;
    int32_t code = s->api->forward_backward(
        s->ctx.at, s->weights.at, s->train.at, s->arena.at, r->tokens, r->targets, c->batch,
        c->context, (float)(1.0 / parts), s->packed, step_sums_final(&r->sums), &r->sums, &loss);
    if (code != STRATA_ERROR_STOPPED) status = session_check(s, code, "forward_backward", e);
    if (status) return status;
    row[STEP_LOSS] = loss.loss, row[STEP_CROSS_ENTROPY] = loss.cross_entropy;
    for (int64_t k = 0; k < step_numbers(r); k++)
        row[k] /= parts;
    return step_sums_end(&r->sums, e);
}

/* The same number of all micro-batches. */
static double mean(const Run *r, int64_t number) {
    return sum_tree_numbers(r->numbers + number, r->state.accumulate, step_numbers(r));
}

int run_gradients(Run *r, TrainStep *x, Error *e) {
    const StepSums *s = &r->sums;
    int64_t all = r->state.accumulate * step_numbers(r);
    int status = STATUS_OK;
    memset(r->numbers, 0, (size_t)all * sizeof *r->numbers);
    for (int64_t i = s->first; !status && i < s->first + s->count; i++)
        status = micro_batch(r, i, e);
    if (!status) status = ranks_sum(s->reducer, r->numbers, all, e);
    if (status) return status;
    x->loss = mean(r, STEP_LOSS);
    x->cross_entropy = mean(r, STEP_CROSS_ENTROPY);
    x->routed = r->routed;
    x->routes = r->p->m->routed;
    for (int32_t k = 0; k < x->routes; k++)
        r->routed[k] = mean(r, STEP_ROUTED + k);
    measure_loads(r, x);
    return STATUS_OK;
}
