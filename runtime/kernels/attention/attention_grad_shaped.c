/* SPDX-License-Identifier: MIT
** Backward attention of problems whose scores are shaped. */
#define SHAPED 1
#include "attention_back.h"

void k_attention_grad_shaped(const Attention *a, int64_t task, float *scratch) {
    grad_task(a, task, scratch);
}
