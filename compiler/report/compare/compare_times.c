/* SPDX-License-Identifier: MIT
** How long the steps of training runs took; see comparison.h. */
#include "comparison.h"

#include <math.h>
#include <stdlib.h>

/* A step that took so many times the median did not only train: the process was stopped, or
** waited for others. */
#define PAUSED 4

bool run_leave_out_pauses(TrainRun *r, int steps) {
    double *own = calloc((size_t)steps, sizeof *own), sum = 0;
    for (int i = 0; own && i < steps; i++)
        own[i] = r->seconds[i] - (i ? r->seconds[i - 1] : 0);
    double middle = own ? stats_median(own, steps) : NAN;
    for (int i = 0; isfinite(middle) && i < steps; i++)
        r->seconds[i] = sum += own[i] > 0 && own[i] <= PAUSED * middle ? own[i] : middle;
    free(own);
    return isfinite(middle);
}

bool compare_any_routes(const Comparison *c) {
    for (int i = 0; c->text && i < c->n; i++)
        if (c->variant[i].run->routed) return true;
    return false;
}

bool compare_times_measured(const Comparison *c) {
    return c->text && c->rounds && !compare_any_routes(c);
}

double compare_seconds(const Comparison *c, const Variant *v, const TrainRun *r, int step) {
    if (!compare_times_measured(c)) return r->seconds[step - 1];
    const Model *m = v->report->model;
    double tokens = (double)step * (double)m->train.batch * (double)m->context;
    return stats_median(v->timing.seconds, c->rounds) * tokens / v->timing.tokens;
}
