/* SPDX-License-Identifier: MIT
** What training came to, in words; see comparison.h. */
#include "comparison.h"

#include <math.h>

static void add_match(const Comparison *c, const TrainingResult *x, const TrainingResult *base,
                      Text *t) {
    const char *name = c->variant->label;
    if (!x->matched) {
        text_add(t, ", never as low as %s's lowest", name);
        return;
    }
    text_add(t, ", as low as %s's lowest after %s s of training, %s after %s s", name,
             FIGURES(x->seconds.mean, 3), name, FIGURES(base->seconds.mean, 3));
    if (x->matched < c->seeds) text_add(t, " (%d of %d seeds)", x->matched, c->seeds);
}

static const char *plus(double value) { return value < 0 ? "" : "+"; }

void compare_trained_words(const Comparison *c, const Variant *v, Text *t) {
    TrainingResult x = compare_trained(c, v), base = compare_trained(c, c->variant);
    const Estimate *d = &x.difference;
    const char *name = c->variant->label;
    if (isfinite(x.first.mean))
        text_add(t, "validation loss before training %.4f against %.4f; ", x.first.mean,
                 base.first.mean);
    if (!d->known) {
        text_add(t, "loss %.4f against %s's %.4f, %+.4f (one seed tells nothing)", x.end.mean, name,
                 base.end.mean, d->mean);
        return;
    }
    if (!compare_detected(c, v, FAMILY_LOSS)) {
        text_add(t,
                 "loss not distinguishable from %s (%s%s, could be %s%s to %s%s with %d seeds%s)",
                 name, plus(d->mean), FIGURES(d->mean, 2), plus(d->low), FIGURES(d->low, 2),
                 plus(d->high), FIGURES(d->high, 2), c->seeds,
                 stats_covers_zero(d) ? "" : ": too little among several comparisons");
        return;
    }
    text_add(t, "loss %s than %s's by %s (%s to %s with %d seeds)",
             d->mean < 0 ? "lower" : "higher", name, FIGURES(fabs(d->mean), 2),
             FIGURES(fmin(fabs(d->low), fabs(d->high)), 2),
             FIGURES(fmax(fabs(d->low), fabs(d->high)), 2), c->seeds);
    add_match(c, &x, &base, t);
}

/* Nobody trains from more. */
enum { SEEDS_TOLD = 1000 };

void compare_seeds_words(const Comparison *c, const Variant *v, Text *t) {
    TrainingResult x = compare_trained(c, v);
    if (!x.difference.known || compare_detected(c, v, FAMILY_LOSS)) return;
    text_add(t, " %d seeds show differences of %s and more", c->seeds, FIGURES(x.shown, 2));
    if (x.needed && x.needed <= SEEDS_TOLD)
        text_add(t, ", %d would show %s", x.needed, FIGURES(fabs(x.difference.mean), 2));
    text_add(t, " (four times in five).");
}

void compare_routed_words(const Comparison *c, const Variant *v, Text *t) {
    TrainingResult x = compare_trained(c, v), base = compare_trained(c, c->variant);
    bool own = isfinite(x.routed.mean), other = isfinite(base.routed.mean);
    if (!own && !other) return;
    text_add(t, " In training ");
    if (own) text_add(t, "its routes took %.1f %% of the tokens at the end", 100 * x.routed.mean);
    if (other)
        text_add(t, "%s%s's took %.1f %%", own ? "; " : "", c->variant->label,
                 100 * base.routed.mean);
    char difference[32];
    compare_difference(difference, compare_executed(c, v), compare_executed(c, c->variant));
    text_add(t, ", FLOPs of training with these: %s.", difference);
}
