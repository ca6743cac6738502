/* SPDX-License-Identifier: MIT
** Forward attention of problems whose scores are shaped. */
#define SHAPED 1
#include "attention_forward.h"

void k_attention_shaped(const Attention *a, int64_t task, float *scratch) {
    attention_task(a, task, scratch);
}
