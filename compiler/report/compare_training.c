/* What training runs came to, over seeds; see compare.h. */
#include "compare.h"

#include <math.h>
#include <stdlib.h>



static double best_of(const TrainRun *r) {
    double best = INFINITY;
    for (int i = 0; i < r->evaluations; i++) best = fmin(best, r->value[i]);
    return best;
}

/* Seconds of training until the first evaluation at 'loss' or below; NAN: never. */
static double seconds_to(const TrainRun *r, double loss) {
    for (int i = 0; i < r->evaluations; i++)
        if (r->value[i] <= loss) return r->seconds[r->step[i] - 1];
    return NAN;
}

Trained compare_trained(const Comparison *c, const Variant *v) {
    double best[COMPARE_SEEDS], difference[COMPARE_SEEDS], seconds[COMPARE_SEEDS];
    Trained x = { 0 };
    int n = c->seeds;
    for (int s = 0; s < n; s++) {
        double base = best_of(&c->variant->run[s]), time = seconds_to(&v->run[s], base);
        best[s] = best_of(&v->run[s]);
        difference[s] = best[s] - base;
        if (isfinite(time)) seconds[x.matched++] = time;
    }
    x.best = stats_mean(best, n);
    x.difference = stats_mean(difference, n);
    x.seconds = stats_mean(seconds, x.matched);
    return x;
}

void compare_trained_words(const Comparison *c, const Variant *v, Text *t) {
    Trained x = compare_trained(c, v), base = compare_trained(c, c->variant);
    text_add(t, "best validation loss %.4f against %.4f", x.best.mean, base.best.mean);
    if (!x.difference.known) text_add(t, ", %+.4f (one seed tells nothing)", x.difference.mean);
    else if (stats_covers_zero(&x.difference)) text_add(t, ", no difference detected over %d seeds", c->seeds);
    else text_add(t, ", a difference of %+.4f over %d seeds", x.difference.mean, c->seeds);
    if (x.difference.known) text_add(t, " (95 %% interval %+.4f to %+.4f)", x.difference.low, x.difference.high);
    if (!x.matched) text_add(t, ", which it did not match");
    else text_add(t, ", matched after %.3g s; the baseline took %.3g s", x.seconds.mean, base.seconds.mean);
    if (x.matched && x.matched < c->seeds) text_add(t, " (%d of %d seeds)", x.matched, c->seeds);
}

/* == Curves ================================================================= */

static double mean_loss(const TrainRun *r, int from, int to) {
    double sum = 0;
    for (int i = from; i < to; i++) sum += r->loss[i];
    return sum / (to - from);
}

static void fill_bin(const Comparison *c, const Variant *v, Band *b, int bin) {
    int from = (int)((int64_t)bin * c->steps / b->bins), to = (int)((int64_t)(bin + 1) * c->steps / b->bins);
    b->low[bin] = INFINITY, b->high[bin] = -INFINITY;
    for (int s = 0; s < c->seeds; s++) {
        double loss = mean_loss(&v->run[s], from, to);
        b->mean[bin] += loss / c->seeds;
        b->low[bin] = fmin(b->low[bin], loss), b->high[bin] = fmax(b->high[bin], loss);
        b->seconds[bin] += v->run[s].seconds[to - 1] / c->seeds;
    }
}

bool band_of(const Comparison *c, const Variant *v, int bins, Band *b) {
    double *all = calloc(4 * (size_t)bins, sizeof *all);
    *b = (Band){ all, all ? all + bins : NULL, all ? all + 2 * bins : NULL, all ? all + 3 * bins : NULL, bins };
    for (int i = 0; all && i < bins; i++) fill_bin(c, v, b, i);
    return all != NULL;
}

void band_free(Band *b) { free(b->mean); }
