/* SPDX-License-Identifier: MIT
** The settings of a run: from the command line, else from the checkpoint, else from the spec.
*/
#include "train.h"

void run_settings(const Program *p, const Checkpoint *saved, Checkpoint *c) {
    const OptionValue *v = p->options.value;
    Checkpoint base;
    checkpoint_defaults(c, p->m);
    base = saved ? *saved : *c;
    if (!saved) {
        base.accumulate = v[OPTION_ACCUMULATE].count;
        print_text(base.order, sizeof base.order, "%s", order_names[v[OPTION_ORDER].choice]);
        base.steps = v[OPTION_STEPS].count;
        base.eval_every = v[OPTION_EVAL_EVERY].count;
    }
    c->batch = v[OPTION_BATCH].given ? v[OPTION_BATCH].count : base.batch;
    c->accumulate = v[OPTION_ACCUMULATE].given ? v[OPTION_ACCUMULATE].count : base.accumulate;
    print_text(c->order, sizeof c->order, "%s",
               v[OPTION_ORDER].given ? order_names[v[OPTION_ORDER].choice] : base.order);
    c->lr = v[OPTION_LR].given ? v[OPTION_LR].number : base.lr;
    c->seed = v[OPTION_SEED].given ? v[OPTION_SEED].seed : base.seed;
    c->data_seed = v[OPTION_DATA_SEED].given ? v[OPTION_DATA_SEED].seed
        : saved                              ? base.data_seed
                                             : c->seed;
    c->val_share = v[OPTION_VAL_SHARE].given ? v[OPTION_VAL_SHARE].number : base.val_share;
    c->steps = v[OPTION_MINUTES].given ? 0
        : v[OPTION_STEPS].given        ? v[OPTION_STEPS].count
                                       : base.steps;
    c->minutes = v[OPTION_MINUTES].given ? v[OPTION_MINUTES].number
        : v[OPTION_STEPS].given          ? 0
                                         : base.minutes;
    c->eval_every = v[OPTION_EVAL_EVERY].given ? v[OPTION_EVAL_EVERY].count : base.eval_every;
}

char *run_length(const Checkpoint *c, char to[48]) {
    char minutes[32];
    if (c->minutes > 0) print_text(to, 48, "--minutes %s", print_double(minutes, c->minutes));
    else print_text(to, 48, "--steps %lld", (long long)c->steps);
    return to;
}
