/* SPDX-License-Identifier: MIT
** What training runs came to, over seeds; see comparison.h. */
#include "comparison.h"
#include "routed.h"

#include <math.h>
#include <stdlib.h>

int compare_last(const Comparison *c) { return c->steps > 10 ? c->steps / 10 : 1; }

static double routed_of(const TrainRun *r) {
    double sum = 0;
    for (int i = 0; i < r->routes; i++)
        sum += r->route[i];
    return r->routes ? sum / r->routes : NAN;
}

static double best_of(const TrainRun *r) {
    return r->evaluations ? r->value[r->evaluations - 1] : (double)INFINITY;
}

/* Evaluations of a part of the text: all but the last. */
static int parts_of(const TrainRun *r) { return r->evaluations > 1 ? r->evaluations - 1 : 1; }

static double lowest_part(const TrainRun *r) {
    double lowest = INFINITY;
    for (int i = 0; i < parts_of(r); i++)
        lowest = fmin(lowest, r->value[i]);
    return lowest;
}

/* Seconds of training until the first evaluation at 'loss' or below; NAN: never. */
static double seconds_to(const TrainRun *r, double loss) {
    for (int i = 0; i < parts_of(r); i++)
        if (r->value[i] <= loss) return r->seconds[r->step[i] - 1];
    return NAN;
}

TrainingResult compare_trained(const Comparison *c, const Variant *v) {
    double best[COMPARE_SEEDS], difference[COMPARE_SEEDS], seconds[COMPARE_SEEDS],
        routed[COMPARE_SEEDS], first[COMPARE_SEEDS];
    TrainingResult x = { 0 };
    int n = c->seeds;
    for (int s = 0; s < n; s++) {
        const TrainRun *other = &c->variant->run[s];
        double base = best_of(other), time = seconds_to(&v->run[s], lowest_part(other));
        best[s] = best_of(&v->run[s]);
        difference[s] = best[s] - base;
        routed[s] = routed_of(&v->run[s]);
        first[s] = v->run[s].has_first ? v->run[s].first : NAN;
        if (isfinite(time)) seconds[x.matched++] = time;
    }
    x.best = stats_mean(best, n);
    x.first = stats_mean(first, n);
    x.difference = stats_mean(difference, n);
    x.needed = stats_needed(&x.difference);
    x.shown = stats_shown(&x.difference, n);
    x.seconds = stats_mean(seconds, x.matched);
    x.routed = stats_mean(routed, n);
    return x;
}

double compare_executed(const Comparison *c, const Variant *v) {
    Report r = *v->report; /* whose routes' shares are those of the runs */
    int64_t length = r.model->context;
    r.lists = v->run->routes;
    r.list = calloc((size_t)r.lists + 1, sizeof *r.list);
    if (!r.list) return NAN;
    for (int s = 0; s < c->seeds; s++)
        for (int i = 0; i < r.lists; i++)
            r.list[i + 1].own += v->run[s].route[i] / c->seeds;
    double flops = routed_executed(&r, TRAINING, length, NAN) / (double)length;
    free(r.list);
    return flops;
}

void compare_trained_words(const Comparison *c, const Variant *v, Text *t) {
    TrainingResult x = compare_trained(c, v), base = compare_trained(c, c->variant);
    if (isfinite(x.first.mean))
        text_add(t, "validation loss before training %.4f against %.4f, ", x.first.mean,
                 base.first.mean);
    text_add(t, "best validation loss %.4f against %.4f", x.best.mean, base.best.mean);
    if (!x.difference.known) text_add(t, ", %+.4f (one seed tells nothing)", x.difference.mean);
    else if (stats_covers_zero(&x.difference))
        text_add(t, ", no difference detected over %d seeds", c->seeds);
    else text_add(t, ", a difference of %+.4f over %d seeds", x.difference.mean, c->seeds);
    if (x.difference.known)
        text_add(t, " (95 %% interval %+.4f to %+.4f)", x.difference.low, x.difference.high);
    if (!x.matched) text_add(t, ", which it did not match");
    else
        text_add(t, ", matched after %.3g s; the baseline took %.3g s", x.seconds.mean,
                 base.seconds.mean);
    if (x.matched && x.matched < c->seeds) text_add(t, " (%d of %d seeds)", x.matched, c->seeds);
    bool own = isfinite(x.routed.mean), other = isfinite(base.routed.mean);
    if (own) text_add(t, "; its routes took %.1f %% of the tokens at the end", 100 * x.routed.mean);
    if (other) text_add(t, "; %s's took %.1f %%", c->variant->label, 100 * base.routed.mean);
    if (!own && !other) return;
    char difference[32];
    compare_difference(difference, compare_executed(c, v), compare_executed(c, c->variant));
    text_add(t, ", FLOPs of training with these: %s", difference);
}

/* == Curves =============================================================== */

static const double *series_of(const TrainRun *r, Series which) {
    return which == SERIES_LOSS ? r->loss : r->routed;
}

static double mean_of(const double *x, int from, int to) {
    double sum = 0;
    for (int i = from; i < to; i++)
        sum += x[i];
    return sum / (to - from);
}

static void fill_bin(const Comparison *c, const Variant *v, Series which, Band *b, int bin) {
    int from = (int)((int64_t)bin * c->steps / b->bins),
        to = (int)((int64_t)(bin + 1) * c->steps / b->bins);
    b->low[bin] = INFINITY, b->high[bin] = -INFINITY;
    for (int s = 0; s < c->seeds; s++) {
        double value = mean_of(series_of(&v->run[s], which), from, to);
        b->mean[bin] += value / c->seeds;
        b->low[bin] = fmin(b->low[bin], value), b->high[bin] = fmax(b->high[bin], value);
        b->seconds[bin] += v->run[s].seconds[to - 1] / c->seeds;
    }
}

bool band_of(const Comparison *c, const Variant *v, Series which, int bins, Band *b) {
    if (!series_of(v->run, which)) return *b = (Band){ 0 }, true;
    double *all = calloc(4 * (size_t)bins, sizeof *all);
    *b = (Band){ all, all ? all + bins : NULL, all ? all + 2 * bins : NULL,
                 all ? all + 3 * bins : NULL, bins };
    for (int i = 0; all && i < bins; i++)
        fill_bin(c, v, which, b, i);
    return all != NULL;
}

void band_free(Band *b) { free(b->mean); }
