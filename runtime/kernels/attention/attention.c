/* SPDX-License-Identifier: MIT
** Forward attention: its scratch, its tasks, and the kernels for plain scores.
*/
#define SHAPED 0
#include "attention_forward.h"

/* Left operands of a tile of pairs, and what their products need. */
static int64_t pair_floats(int64_t d) {
    return STRATA_PAIRS ? 2 * KEYS * whole_steps(d) + KEYS * d + k_pairs_spare() + 80 : 0;
}

static int64_t forward_floats(int64_t d) {
    return 2 * KEYS * padded(d) + KEYS * PANEL + PANEL + QUERIES * (d + panel_rows(d) + 2) + 64
        + 64 * (QUERIES / PANEL) + pair_floats(d);
}

/* Backward: two tiles and their gradients, three panels and two sets of rows of a
** block, its scores; of pairs, these and the rows again. */
static int64_t backward_floats(int64_t d) {
    int64_t again = STRATA_PAIRS ? KEYS * BLOCK + 2 * k_pairs_block_floats(d, BLOCK) + 64 : 0;
    return 4 * KEYS * padded(d) + 2 * KEYS * BLOCK + BLOCK * (d + 2 * panel_rows(d))
        + 2 * BLOCK * padded(d) + 3 * BLOCK + 256 + OWN_FLOATS + pair_floats(d) + again;
}

int64_t k_attention_scratch(int64_t d) {
    int64_t floats = max64(max64(forward_floats(d), backward_floats(d)), k_attention_few_floats(d));
    return (floats + 15) / 16 * 64;
}

int64_t k_attention_tasks(const Attention *a) {
    if (a->keys && a->time <= ATTENTION_FEW) return k_attention_few_tasks(a);
    int64_t size = task_queries(a);
    return a->sequences * a->heads * ((a->time + size - 1) / size);
}

void k_attention(const Attention *a, int64_t task, float *scratch) {
    int few = a->keys && a->time <= ATTENTION_FEW;
    if (a->shaped && few) k_attention_few_shaped(a, task, scratch);
    else if (a->shaped) k_attention_shaped(a, task, scratch);
    else if (few) k_attention_few(a, task, scratch);
    else attention_task(a, task, scratch);
}
