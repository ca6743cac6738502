/* SPDX-License-Identifier: MIT
** The numbers of a comparison, and a sentence that sums them up; see comparison.h.
*/
#include "comparison.h"

#include "console.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* == Numbers ============================================================== */

#define METRIC(name, expression)                                \
    static double name(const Comparison *c, const Variant *v) { \
        return (void)c, (double)(expression);                   \
    }
METRIC(parameters, v->report->model->parameters)
METRIC(flops_forward, v->report->work[FORWARD].flops)
METRIC(flops_training, v->report->work[TRAINING].flops)
METRIC(row_arithmetic, 2 * v->report->work[TRAINING].operations)
METRIC(predicted_seconds, v->report->seconds[TRAINING])
METRIC(bytes_forward, v->report->work[FORWARD].bytes)
METRIC(bytes_training, v->report->work[TRAINING].bytes)
METRIC(memory_per_token, v->report->memory.per_token)
METRIC(memory_constant,
       v->report->memory.weights + v->report->memory.gradients + v->report->memory.optimizer
           + v->report->memory.packed + v->report->memory.constant + v->report->memory.control)
METRIC(state_per_token, v->report->memory.state_per_token)
METRIC(sources, v->report->sources_average)
METRIC(kernels, v->report->nkernel)
METRIC(calls, v->report->work[TRAINING].calls)
METRIC(code_bytes, v->code_bytes)
METRIC(compile_seconds, v->compile_seconds)
METRIC(step_seconds, c->rounds ? stats_median(v->timing.seconds, c->rounds) : NAN)
METRIC(tokens_per_second, c->rounds ? v->timing.tokens / step_seconds(c, v) : NAN)
METRIC(memory_peak, c->rounds ? v->timing.memory : NAN)
METRIC(swept_rate, c->rates ? v->lr : NAN)
METRIC(first_loss, c->text ? compare_trained(c, v).first.mean : NAN)
METRIC(end_loss, c->text ? compare_trained(c, v).end.mean : NAN)
METRIC(end_deviation, c->text && c->seeds > 1 ? compare_trained(c, v).end.deviation : NAN)
METRIC(match_seconds, c->text ? compare_trained(c, v).seconds.mean : NAN)
#undef METRIC

const Metric compare_metrics[] = {
    { "best_validation_loss", "validation loss at the end", UNIT_LOSS, SAMPLED_LOSS, end_loss,
      true },
    { "best_validation_loss_deviation", "its deviation over seeds", UNIT_LOSS, SAMPLED_SPREAD,
      end_deviation, true },
    { "validation_loss_before", "validation loss before training", UNIT_LOSS, SAMPLED_NOT,
      first_loss, true },
    { "seconds_to_match", "time to the baseline's lowest", UNIT_SECONDS, SAMPLED_LOSS,
      match_seconds, true },
    { "swept_rate", "learning rate, best of the sweep", UNIT_RATE, SAMPLED_SPREAD, swept_rate,
      true },
    { "step_seconds", "training step", UNIT_SECONDS, SAMPLED_TIME, step_seconds, true },
    { "tokens_per_second", "tokens per second, training", UNIT_COUNT, SAMPLED_TIME,
      tokens_per_second, true },
    { "memory_peak", "peak memory", UNIT_BYTES, SAMPLED_NOT, memory_peak, true },
    { "parameters", "parameters", UNIT_COUNT, SAMPLED_NOT, parameters, false },
    { "flops_per_token_forward", "FLOPs per token, forward", UNIT_COUNT, SAMPLED_NOT, flops_forward,
      false },
    { "flops_per_token_training", "FLOPs per token, training", UNIT_COUNT, SAMPLED_NOT,
      flops_training, false },
    { "row_arithmetic_per_token_training", "row kernels as FLOPs, training", UNIT_COUNT,
      SAMPLED_NOT, row_arithmetic, false },
    { "predicted_step_seconds", "training step, predicted", UNIT_SECONDS, SAMPLED_NOT,
      predicted_seconds, false },
    { "bytes_per_token_forward", "bytes moved per token, forward", UNIT_BYTES, SAMPLED_NOT,
      bytes_forward, false },
    { "bytes_per_token_training", "bytes moved per token, training", UNIT_BYTES, SAMPLED_NOT,
      bytes_training, false },
    { "memory_per_token", "memory per token, training", UNIT_BYTES, SAMPLED_NOT, memory_per_token,
      false },
    { "memory_constant", "memory, constant", UNIT_BYTES, SAMPLED_NOT, memory_constant, false },
    { "state_per_token", "state per token, generating", UNIT_BYTES, SAMPLED_NOT, state_per_token,
      false },
    { "sources_average", "sources per depth read", UNIT_COUNT, SAMPLED_NOT, sources, false },
    { "kernels", "kernels", UNIT_COUNT, SAMPLED_NOT, kernels, false },
    { "calls", "calls per training step", UNIT_COUNT, SAMPLED_NOT, calls, false },
    { "code_bytes", "code size", UNIT_BYTES, SAMPLED_NOT, code_bytes, false },
    { "compile_seconds", "compile time", UNIT_SECONDS, SAMPLED_NOT, compile_seconds, false },
};
const int compare_nmetric = sizeof compare_metrics / sizeof *compare_metrics;

/* == What is told ========================================================= */

static bool differs(const Comparison *c, const Variant *v, Sampled by) {
    if (by == SAMPLED_TIME) return compare_detected(c, v, FAMILY_TIME);
    return by == SAMPLED_NOT || compare_loss_differs(c, v);
}

double compare_told(const Comparison *c, const Metric *m, const Variant *v) {
    bool until = m->value == match_seconds && c->text;
    return until && !compare_loss_differs(c, c->variant) ? NAN : m->value(c, v);
}

char *compare_told_number(char to[32], const Comparison *c, const Metric *m, const Variant *v) {
    compare_number(to, m->unit, compare_told(c, m, v));
    if (m->value != match_seconds || !c->text) return to;
    int matched = compare_trained(c, v).matched;
    size_t n = strlen(to);
    if (!matched) print_text(to, 32, "never");
    else if (matched < c->seeds) print_text(to + n, 32 - n, " %d/%d", matched, c->seeds);
    return to;
}

char *compare_told_difference(char to[32], const Comparison *c, const Metric *m, const Variant *v) {
    double own = compare_told(c, m, v), base = compare_told(c, m, c->variant);
    *to = 0;
    if (v == c->variant || m->sampled == SAMPLED_SPREAD || !isfinite(own) || !isfinite(base))
        return to;
    if (!differs(c, v, m->sampled)) return print_text(to, 32, "~"), to;
    return compare_difference(to, own, base);
}

/* == The answer =========================================================== */

/* What more than this could be is not "as fast". */
#define AS_FAST 0.1

static const Metric *metric_of(const char *key) {
    int i = 0;
    while (strcmp(compare_metrics[i].key, key))
        i++;
    return &compare_metrics[i];
}

/* "+31 %": no more digits than a reader keeps. */
static void add_percent(Text *t, double part) {
    double percent = 100 * part;
    text_add(t, fabs(percent) < 9.95 ? "%+.1f %%" : "%+.0f %%", percent);
}

static void add_cost(const Comparison *c, const Variant *v, const char *key, const char *words,
                     Text *t) {
    const Metric *m = metric_of(key);
    double own = m->value(c, v), base = m->value(c, c->variant);
    if (own == base) text_add(t, "same %s", words);
    else add_percent(t, own / base - 1), text_add(t, " %s", words);
}

static void add_speed(const Comparison *c, const Variant *v, Text *t) {
    const Estimate *e = &v->timing.slower;
    if (!c->rounds) return;
    if (!e->known) {
        text_add(t, "time per step "), add_percent(t, e->mean);
        text_add(t, " (one round tells nothing); ");
        return;
    }
    bool close = fmax(fabs(e->low), fabs(e->high)) <= AS_FAST,
         told = compare_detected(c, v, FAMILY_TIME);
    if (told)
        text_add(t, "a step takes %.*f %% %s", fabs(e->mean) < 0.0995, 100 * fabs(e->mean),
                 e->mean > 0 ? "longer" : "less time");
    else
        text_add(t,
                 close && stats_covers_zero(e) ? "as fast per step"
                                               : "time per step not distinguishable");
    text_add(t, told ? " (" : " (could be ");
    add_percent(t, e->low), text_add(t, " to "), add_percent(t, e->high);
    text_add(t, " with %d rounds%s); ", c->rounds,
             told || stats_covers_zero(e) ? "" : ": too little among several comparisons");
}

static void add_rest(const Comparison *c, const Variant *v, Text *t) {
    static const char *const told[][2] = { { "parameters", "Parameters" },
                                           { "flops_per_token_training", "FLOPs of training" } };
    for (int i = 0; i < 2; i++) {
        const Metric *m = metric_of(told[i][0]);
        char words[32];
        double own = m->value(c, v), base = m->value(c, c->variant);
        text_add(t, "%s%s %s", i ? ", " : "", told[i][1],
                 own == base ? "equal" : compare_difference(words, own, base));
    }
    text_add(t, ".");
    if (!c->text) return;
    compare_seeds_words(c, v, t);
    compare_routed_words(c, v, t);
}

void compare_answer(const Comparison *c, const Variant *v, Text *first, Text *rest) {
    text_add(first, "%s: ", v->label);
    if (c->text) compare_trained_words(c, v, first), text_add(first, "; ");
    add_speed(c, v, first);
    add_cost(c, v, "bytes_per_token_training", "memory traffic", first);
    text_add(first, ", ");
    add_cost(c, v, "memory_per_token", "memory", first);
    text_add(first, ".");
    add_rest(c, v, rest);
}

void compare_verdict(const Comparison *c, Text *t) {
    for (int i = 1; i < c->n; i++) {
        Text rest = { 0 };
        compare_answer(c, &c->variant[i], t, &rest);
        text_add(t, " ");
        text_bytes(t, rest.at ? rest.at : "", rest.length);
        text_add(t, "\n");
        if (rest.failed) t->failed = true;
        text_free(&rest);
    }
}
