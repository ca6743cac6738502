/* SPDX-License-Identifier: MIT
** Results of training runs, over seeds; see comparison.h.
*/
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

static double training_end_of(const TrainRun *r) {
    return r->evaluations ? r->value[r->evaluations - 1] : (double)INFINITY;
}

/* Evaluations of a part of the text: all but the last. */
static int training_parts_of(const TrainRun *r) {
    return r->evaluations > 1 ? r->evaluations - 1 : 1;
}

static double lowest_part(const TrainRun *r) {
    double lowest = INFINITY;
    for (int i = 0; i < training_parts_of(r); i++)
        lowest = fmin(lowest, r->value[i]);
    return lowest;
}

/* Seconds of training until the first evaluation at 'loss' or below; NAN: never. */
static double seconds_to(const Comparison *c, const Variant *v, const TrainRun *r, double loss) {
    for (int i = 0; i < training_parts_of(r); i++)
        if (r->value[i] <= loss) return compare_seconds(c, v, r, r->step[i]);
    return NAN;
}

TrainingResult compare_trained(const Comparison *c, const Variant *v) {
    double end[COMPARE_SEEDS], difference[COMPARE_SEEDS], seconds[COMPARE_SEEDS],
        routed[COMPARE_SEEDS], first[COMPARE_SEEDS];
    TrainingResult x = { 0 };
    int n = c->seeds;
    for (int s = 0; s < n; s++) {
        const TrainRun *other = &c->variant->run[s];
        double base = training_end_of(other),
               time = seconds_to(c, v, &v->run[s], lowest_part(other));
        end[s] = training_end_of(&v->run[s]);
        difference[s] = end[s] - base;
        routed[s] = routed_of(&v->run[s]);
        first[s] = v->run[s].has_first ? v->run[s].first : NAN;
        if (isfinite(time)) seconds[x.matched++] = time;
    }
    x.end = stats_mean(end, n);
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
        b->seconds[bin] += compare_seconds(c, v, &v->run[s], to) / c->seeds;
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

/* == Routes that took nothing ============================================= */

int compare_idle_route(const Comparison *c, const Variant *v, int i, double *share) {
    const double few = 0.01; /* of the tokens, as a program's train says it */
    for (; v->run && v->run->route && i < v->run->routes; i++) {
        *share = 0;
        for (int s = 0; s < c->seeds; s++)
            *share += v->run[s].route ? v->run[s].route[i] / c->seeds : 0;
        if (*share < few) return i;
    }
    return v->run ? v->run->routes : 0;
}

const char *compare_route_site(const Variant *v, int i) {
    const Node *rows = graph_list(v->report->model->graph, i + 1);
    return rows && rows->site ? rows->site : "model";
}

void compare_idle_note(const Comparison *c, Text *t) {
    int some = 0;
    double share;
    for (int k = 0; c->text && k < c->n; k++) {
        const Variant *v = &c->variant[k];
        for (int i = 0; (i = compare_idle_route(c, v, i, &share)) < (v->run ? v->run->routes : 0);
             i++) {
            text_add(t, "%s%s: %s took %.2g %%", some++ ? ", " : "Of the last tenth's tokens ",
                     v->label, compare_route_site(v, i), 100 * share);
        }
    }
    if (some) text_add(t, ". What takes no token is not trained.");
}
