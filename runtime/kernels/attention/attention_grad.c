/* SPDX-License-Identifier: MIT
** Backward attention: its tasks, and those of problems that nothing shapes. */
#define SHAPED 0
#include "attention_back.h"

int64_t k_attention_grad_tasks(const Attention *a) {
    if (whole_groups(a)) return a->sequences * a->groups;
    return a->sequences * a->groups * ((a->time + KEY_RANGE - 1) / KEY_RANGE)
        + a->sequences * a->heads * ((a->time + QUERY_RANGE - 1) / QUERY_RANGE);
}

void k_attention_grad(const Attention *a, int64_t task, float *scratch) {
    if (a->shaped) k_attention_grad_shaped(a, task, scratch);
    else grad_task(a, task, scratch);
}
