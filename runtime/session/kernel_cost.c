/* SPDX-License-Identifier: MIT
** Costs are linear in tokens and in (query, key) pairs. */
#include "kernel_cost.h"

Cost work_cost(const strata_work *w, double sequences, double length) {
    double tokens = sequences * length, pairs = sequences * length * (length + 1) / 2;
    return (Cost){ w->flops_per_token * tokens + w->flops_per_pair * pairs,
                   w->bytes_per_token * tokens + w->bytes_constant };
}

Cost prompt_cost(const strata_work *w, double length) {
    Cost c = work_cost(w, 1, length);
    c.flops -= w->last_flops * (length - 1);
    c.bytes -= w->last_bytes * (length - 1);
    return c;
}

double training_flops(const strata_model *m, double sequences, double length) {
    double flops = 0;
    for (int32_t i = 0; i < m->kernels; i++)
        flops += work_cost(&strata_kernels(m)[i].training, sequences, length).flops;
    return flops;
}
