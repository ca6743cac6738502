/* SPDX-License-Identifier: MIT
** Groups of tensors; see tuning.h. */
#include "tuning.h"

const char *tuning_by(int32_t by) {
    static const char *const name[] = { "adamw", "muon", "frozen" };
    return name[by];
}

static TuningGroup group_of(const strata_model *m, int32_t tensor, double lr) {
    const strata_tuning *x = &strata_tunings(m)[tensor];
    TuningGroup g = { .by = x->by };
    if (x->by == STRATA_FROZEN) return g;
    g.lr = lr * x->rate;
    g.weight_decay = x->weight_decay < 0 ? m->weight_decay : x->weight_decay;
    return g;
}

static bool is_alike(const TuningGroup *a, const TuningGroup *b) {
    return a->by == b->by && a->lr == b->lr && a->weight_decay == b->weight_decay;
}

int tuning_groups(const strata_model *m, double lr, TuningGroup group[TUNING_GROUPS]) {
    const strata_tensor *t = strata_tensors(m);
    int n = 0;
    for (int32_t i = 0; m->tuning_table && i < m->tensors; i++) {
        int k = 0;
        TuningGroup g = group_of(m, i, lr);
        if (t[i].decay < 0) continue;
        while (k < n && !is_alike(&group[k], &g))
            k++;
        if (k == TUNING_GROUPS) k--;
        if (k == n) group[n++] = g;
        group[k].tensors++;
        group[k].parameters += t[i].count;
    }
    return n;
}

void tuning_lines(Text *t, const strata_model *m) {
    TuningGroup g[TUNING_GROUPS];
    char lr[32], decay[32];
    int n = tuning_groups(m, m->lr, g);
    for (int i = 0; n > 1 && i < n; i++) {
        text_add(t, "  %-11s%lld parameters in %d tensors", tuning_by(g[i].by),
                 (long long)g[i].parameters, g[i].tensors);
        if (g[i].by != STRATA_FROZEN)
            text_add(t, ", lr %s, weight decay %s", print_double(lr, g[i].lr),
                     print_double(decay, g[i].weight_decay));
        text_add(t, "\n");
    }
}
