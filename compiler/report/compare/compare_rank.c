/* SPDX-License-Identifier: MIT
** A sentence that ranks all variants of a comparison and says which of them differ from the
** baseline.  Several intervals are several chances to be wrong, so a difference must remain after
** Holm's correction for the number of comparisons.
*/
#include "comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* == Differences ========================================================== */

Estimate compare_difference_of(const Comparison *c, const Variant *v, Family f) {
    Estimate e = { .chance = 1 };
    if (f == FAMILY_LOSS && c->text) e = compare_trained(c, v).difference;
    if (f == FAMILY_TIME && c->rounds) e = v->timing.slower;
    if (!e.known) e.chance = 1;
    return e;
}

double compare_corrected(const Comparison *c, const Variant *v, Family f) {
    double chance[COMPARE_MOST], corrected[COMPARE_MOST];
    for (int i = 1; i < c->n; i++) {
        Estimate e = compare_difference_of(c, &c->variant[i], f);
        if (!e.known) return NAN;
        chance[i - 1] = e.chance;
    }
    stats_holm(chance, c->n - 1, corrected);
    return v == c->variant ? (double)NAN : corrected[v - c->variant - 1];
}

/* The chance that a difference is called so where there is none. */
#define WRONG 0.05

bool compare_detected(const Comparison *c, const Variant *v, Family f) {
    Estimate e = compare_difference_of(c, v, f);
    return !stats_covers_zero(&e) && compare_corrected(c, v, f) <= WRONG;
}

bool compare_loss_differs(const Comparison *c, const Variant *v) {
    bool any = false;
    for (int i = 1; i < c->n; i++)
        if (v == c->variant || v == &c->variant[i])
            any = any || compare_detected(c, &c->variant[i], FAMILY_LOSS);
    return any;
}

/* == The sentence ========================================================= */

/* What variants are ranked by. */
typedef struct Ranking {
    const Comparison *c;
    double value[COMPARE_MOST];
    int order[COMPARE_MOST]; /* variants, the lowest first */
    Unit unit;
    Text *t;
} Ranking;

static Ranking rank(const Comparison *c, double (*value)(const Comparison *, const Variant *),
                    Unit unit, Text *t) {
    Ranking r = { .c = c, .unit = unit, .t = t };
    for (int i = 0; i < c->n; i++) {
        int at = i;
        r.value[i] = value(c, &c->variant[i]);
        for (; at > 0 && r.value[r.order[at - 1]] > r.value[i]; at--)
            r.order[at] = r.order[at - 1];
        r.order[at] = i;
    }
    return r;
}

/* "attnres 2.523, then haares 2.542, plain 2.596" */
static void add_order(const Ranking *r) {
    for (int k = 0; k < r->c->n; k++) {
        int i = r->order[k];
        char number[32];
        if (r->unit == UNIT_LOSS) print_text(number, sizeof number, "%.3f", r->value[i]);
        else compare_number(number, r->unit, r->value[i]);
        text_add(r->t, "%s%s %s",
                 k == 0       ? ""
                     : k == 1 ? ", then "
                              : ", ",
                 r->c->variant[i].label, number);
    }
}

static int detected(const Comparison *c, Family f) {
    int n = 0;
    for (int i = 1; i < c->n; i++)
        n += compare_detected(c, &c->variant[i], f);
    return n;
}

/* "a, b and c", of those that differ or those that do not, in the ranking's order. */
static void rank_add_names(const Ranking *r, Family f, bool differ) {
    int all = detected(r->c, f), n = differ ? all : r->c->n - 1 - all, done = 0;
    for (int k = 0; k < r->c->n; k++) {
        const Variant *v = &r->c->variant[r->order[k]];
        if (v == r->c->variant || compare_detected(r->c, v, f) != differ) continue;
        text_add(r->t, "%s%s", !done ? "" : done == n - 1 ? " and " : ", ", v->label);
        done++;
    }
}

static void add_detected(const Ranking *r, Family f) {
    const char *base = r->c->variant->label;
    int n = r->c->n - 1, differ = detected(r->c, f);
    text_add(r->t, "; ");
    if (!differ) {
        text_add(r->t, "no difference from %s is detected", base);
    } else if (differ == n && n > 1) {
        text_add(r->t, "all differ from %s", base);
    } else {
        text_add(r->t, n > 1 ? "only " : "");
        rank_add_names(r, f, true);
        text_add(r->t, differ > 1 ? " differ from %s" : " differs from %s", base);
    }
    if (differ && differ < n) {
        text_add(r->t, ", of ");
        rank_add_names(r, f, false);
        text_add(r->t, " no difference is detected");
    }
    if (n > 1) text_add(r->t, " (%d comparisons, Holm's correction)", n);
}

static double end_loss(const Comparison *c, const Variant *v) {
    return compare_trained(c, v).end.mean;
}

static double rank_step_seconds(const Comparison *c, const Variant *v) {
    return stats_median(v->timing.seconds, c->rounds);
}

static double bytes_moved(const Comparison *c, const Variant *v) {
    return (void)c, v->report->work[TRAINING].bytes;
}

static void add_loss(const Comparison *c, Text *t) {
    Ranking r = rank(c, end_loss, UNIT_LOSS, t);
    text_add(t, "Lowest loss: ");
    add_order(&r);
    if (c->seeds < 2) {
        text_add(t, " (one seed, which tells nothing of differences)");
    } else {
        text_add(t, " (means of %d seeds)", c->seeds);
        add_detected(&r, FAMILY_LOSS);
    }
    text_add(t, ".");
}

static void add_time(const Comparison *c, Text *t) {
    Ranking r = rank(c, rank_step_seconds, UNIT_SECONDS, t);
    text_add(t, "Shortest step: ");
    add_order(&r);
    if (c->rounds < 2) text_add(t, " (one round, which tells nothing of differences)");
    else add_detected(&r, FAMILY_TIME);
    text_add(t, ".");
}

void compare_ranking(const Comparison *c, Text *t) {
    if (c->text) add_loss(c, t);
    if (c->text && c->rounds) text_add(t, " ");
    if (c->rounds) add_time(c, t);
    if (c->text || c->rounds) return;
    Ranking r = rank(c, bytes_moved, UNIT_BYTES, t);
    text_add(t, "Fewest bytes moved by a token in training: ");
    add_order(&r);
    text_add(t, ". Nothing was trained (--train) or measured (--measure).");
}

/* == What goes with it ==================================================== */

void compare_intervals_note(const Comparison *c, Text *t) {
    int n = c->n - 1;
    bool several = (c->text && c->seeds > 1) || c->rounds > 1;
    if (n < 2 || !several) return;
    text_add(t,
             "Each interval is one of 95 %% by itself; of %d, one or more miss in up to %d of 100 "
             "such comparisons. A difference is told where Holm's correction for %d leaves it.",
             n, n < 20 ? 5 * n : 100, n);
}

/* -1: its rate was the lowest of some, 1: the highest. */
static int end_of_sweep(const Comparison *c, const Variant *v) {
    bool lowest = true, highest = true;
    for (int k = 0; k < c->rates; k++) {
        if (c->rate[k] < v->lr) lowest = false;
        if (c->rate[k] > v->lr) highest = false;
    }
    return lowest == highest ? 0 : lowest ? -1 : 1;
}

void compare_swept_note(const Comparison *c, Text *t) {
    for (int end = -1; end < 2; end += 2) {
        int some = 0;
        for (int i = 0; i < c->n; i++) {
            const Variant *v = &c->variant[i];
            if (end_of_sweep(c, v) != end) continue;
            if (!some++)
                text_add(t,
                         "%sBest rate at the %s end of the sweep, so that a %s one may be better: ",
                         t->length ? " " : "", end < 0 ? "lower" : "upper",
                         end < 0 ? "lower" : "higher");
            else text_add(t, ", ");
            text_add(t, "%s (%.6g)", v->label, v->lr);
        }
        if (some) text_add(t, ".");
    }
}
