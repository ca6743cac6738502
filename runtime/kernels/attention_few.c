/* SPDX-License-Identifier: MIT
** Attention of a few queries to a cache: its scratch, its tasks, and those that nothing shapes. */
#define SHAPED 0
#include "attention_few.h"

int64_t k_attention_few_floats(int64_t d) { return ROWS_ONCE * (2 * padded(d) + 32) + TILE + 16; }

int64_t k_attention_few_tasks(const Attention *a) {
    return a->sequences * a->groups * few_shares(a);
}

void k_attention_few(const Attention *a, int64_t task, float *scratch) {
    few_task(a, task, scratch);
}
