/* SPDX-License-Identifier: MIT
** Attention of a few queries to a cache, of problems whose scores are shaped. */
#define SHAPED 1
#include "attention_few.h"

void k_attention_few_shaped(const Attention *a, int64_t task, float *scratch) {
    few_task(a, task, scratch);
}
