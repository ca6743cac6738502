/* The numbers of a comparison, and what they come to in a sentence; see comparison.h. */
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
           + v->report->memory.constant + v->report->memory.control)
METRIC(state_per_token, v->report->memory.state_per_token)
METRIC(sources, v->report->sources_average)
METRIC(kernels, v->report->nkernel)
METRIC(calls, v->report->work[TRAINING].calls)
METRIC(code_bytes, v->code_bytes)
METRIC(compile_seconds, v->compile_seconds)
METRIC(step_seconds, c->rounds ? stats_median(v->timing.seconds, c->rounds) : NAN)
METRIC(tokens_per_second, c->rounds ? v->timing.tokens / step_seconds(c, v) : NAN)
METRIC(memory_peak, c->rounds ? v->timing.memory : NAN)
METRIC(best_loss, c->text ? compare_trained(c, v).best.mean : NAN)
METRIC(best_deviation, c->text && c->seeds > 1 ? compare_trained(c, v).best.deviation : NAN)
METRIC(match_seconds, c->text ? compare_trained(c, v).seconds.mean : NAN)
#undef METRIC

const Metric compare_metrics[] = {
    { "parameters", "parameters", UNIT_COUNT, parameters },
    { "flops_per_token_forward", "FLOPs per token, forward", UNIT_COUNT, flops_forward },
    { "flops_per_token_training", "FLOPs per token, training", UNIT_COUNT, flops_training },
    { "row_arithmetic_per_token_training", "arithmetic of row kernels, as FLOPs, training",
      UNIT_COUNT, row_arithmetic },
    { "predicted_step_seconds", "training step, predicted", UNIT_SECONDS, predicted_seconds },
    { "bytes_per_token_forward", "bytes moved per token, forward", UNIT_BYTES, bytes_forward },
    { "bytes_per_token_training", "bytes moved per token, training", UNIT_BYTES, bytes_training },
    { "memory_per_token", "memory per token, training", UNIT_BYTES, memory_per_token },
    { "memory_constant", "memory, constant", UNIT_BYTES, memory_constant },
    { "state_per_token", "state per token, generating", UNIT_BYTES, state_per_token },
    { "sources_average", "sources per depth read", UNIT_COUNT, sources },
    { "kernels", "kernels", UNIT_COUNT, kernels },
    { "calls", "calls per training step", UNIT_COUNT, calls },
    { "code_bytes", "code size", UNIT_BYTES, code_bytes },
    { "compile_seconds", "compile time", UNIT_SECONDS, compile_seconds },
    { "step_seconds", "training step", UNIT_SECONDS, step_seconds },
    { "tokens_per_second", "tokens per second, training", UNIT_COUNT, tokens_per_second },
    { "memory_peak", "peak memory, measured", UNIT_BYTES, memory_peak },
    { "best_validation_loss", "best validation loss", UNIT_LOSS, best_loss },
    { "best_validation_loss_deviation", "its deviation over seeds", UNIT_LOSS, best_deviation },
    { "seconds_to_match", "time to the baseline's best", UNIT_SECONDS, match_seconds },
};
const int compare_nmetric = sizeof compare_metrics / sizeof *compare_metrics;

/* == Verdict ============================================================== */

static const struct {
    const char *key, *words;
} told[] = {
    { "parameters", "parameters" },
    { "flops_per_token_training", "FLOPs of training" },
    { "bytes_per_token_training", "bytes moved" },
    { "memory_per_token", "memory per token" },
};
enum { TOLD = sizeof told / sizeof *told };

static const Metric *metric_of(const char *key) {
    int i = 0;
    while (strcmp(compare_metrics[i].key, key))
        i++;
    return &compare_metrics[i];
}

static void add_numbers(const Comparison *c, const Variant *v, Text *t) {
    for (int i = 0; i < TOLD; i++) {
        const Metric *m = metric_of(told[i].key);
        char words[32];
        double own = m->value(c, v), base = m->value(c, c->variant);
        text_add(t, "%s %s %s", i ? "," : "", told[i].words,
                 own == base ? "equal" : compare_difference(words, own, base));
    }
}

static void add_speed(const Comparison *c, const Variant *v, Text *t) {
    const Estimate *e = &v->timing.slower;
    if (!c->rounds) return;
    if (stats_covers_zero(e)) text_add(t, "; no difference detected in the time of a step");
    else
        text_add(t, "; a step takes %.1f %% %s", 100 * fabs(e->mean),
                 e->mean > 0 ? "longer" : "less");
    if (e->known) text_add(t, " (95 %% interval %+.1f to %+.1f %%)", 100 * e->low, 100 * e->high);
    else text_add(t, " (one round tells nothing)");
}

static void add_training(const Comparison *c, const Variant *v, Text *t) {
    if (!c->text) return;
    text_add(t, "; ");
    compare_trained_words(c, v, t);
}

void compare_verdict(const Comparison *c, Text *t) {
    for (int i = 1; i < c->n; i++) {
        const Variant *v = &c->variant[i];
        text_add(t, "%s against %s:", v->label, c->variant->label);
        add_numbers(c, v, t);
        add_speed(c, v, t);
        add_training(c, v, t);
        text_add(t, ".\n");
    }
}
