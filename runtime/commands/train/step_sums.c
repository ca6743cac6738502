/* SPDX-License-Identifier: MIT
** See step_sums.h.
*/
#include "step_sums.h"

#include <string.h>

#include "ranks.h"
#include "sum_tree.h"

enum { BLOCK = 8192 };

/* == The tree ============================================================= */

static bool is_last(const StepSums *x) { return x->leaf == x->first + x->count - 1; }

/* The node that a leaf completes, and of how many parts before it that is the right half. */
static strata_part complete(const StepSums *x, int64_t leaf, int *joined) {
    strata_part node = { leaf, 1, x->gradients };
    for (*joined = 0; *joined < x->parts; ++*joined) {
        strata_part left = x->part[x->parts - 1 - *joined];
        if (!sum_tree_join(x->leaves, &left, &node)) break;
        node.first = left.first, node.count = left.count;
    }
    return node;
}

static void step_sums_take(StepSums *x) {
    int joined;
    strata_part node = complete(x, x->leaf, &joined);
    x->parts -= joined;
    x->part[x->parts++] = node;
}

/* How many parts are put aside at once: all before the last leaf. */
static int most_aside(int64_t leaves, int64_t first, int64_t count) {
    StepSums x = { .leaves = leaves, .first = first, .count = count };
    int most = 0;
    for (x.leaf = first; !is_last(&x); x.leaf++) {
        step_sums_take(&x);
        most = x.parts > most ? x.parts : most;
    }
    return most;
}

int64_t step_sums_bytes(const strata_model *m, int64_t leaves, const strata_reducer *r) {
    int64_t first, count = sum_tree_share(leaves, rank_of(r), ranks_of(r), &first);
    return count < 1 ? 0 : most_aside(leaves, first, count) * m->gradients * (int64_t)sizeof(float);
}

/* == Numbers ============================================================== */

static void step_sums_add(const float *a, const float *b, float *y, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        y[k] = a[k] + b[k];
}

/* The sums that the leaf completes, while they are in cache; but for the last leaf's, aside. */
static void sum_task(void *arg, int64_t task, int32_t worker) {
    (void)worker;
    StepSums *x = arg;
    int64_t from = x->done + task * BLOCK, n = x->range_end - from;
    int lowest = x->parts - x->joined;
    float *leaf = x->gradients + from;
    if (n > BLOCK) n = BLOCK;
    for (int i = x->parts - 1; i > lowest; i--)
        step_sums_add((float *)x->aside[i].at + from, leaf, leaf, n);
    float *aside = x->aside[lowest].at, *to = is_last(x) ? leaf : aside + from;
    if (x->joined) step_sums_add(aside + from, leaf, to, n);
    else memcpy(to, leaf, (size_t)n * sizeof *to);
}

/* Gradients up to 'end' are final. */
static int sum_until(StepSums *x, int64_t end) {
    const strata_reducer *r = x->reducer;
    int64_t first = x->done, count = end - first;
    if (count <= 0) return STATUS_OK;
    x->range_end = end;
    if (x->joined || !is_last(x)) strata_par_for(x->pool, (count + BLOCK - 1) / BLOCK, sum_task, x);
    x->done = end;
    if (!r || !is_last(x)) return STATUS_OK;
    return rank_status(r, r->range(r->user, first, count), "range", &x->failed);
}

static int32_t final(void *user, int64_t first, int64_t count) {
    return sum_until(user, first + count);
}

/* == A step =============================================================== */

int step_sums_open(StepSums *x, const Session *s, const strata_reducer *r, int64_t leaves,
                   Error *e) {
    *x = (StepSums){ .reducer = r,
                     .pool = s->pool,
                     .gradients = s->train.at,
                     .floats = s->m->gradients,
                     .leaves = leaves };
    x->count = sum_tree_share(leaves, rank_of(r), ranks_of(r), &x->first);
    if (leaves < ranks_of(r))
        return error_set(
            e, STATUS_USER,
            "train: --accumulate: expected a micro-batch or more for each of %d ranks, "
            "found %lld",
            ranks_of(r), (long long)leaves);
    int status = STATUS_OK, most = most_aside(leaves, x->first, x->count);
    for (int i = 0; !status && i < most; i++)
        status = region_open(&x->aside[i], "sums of micro-batches",
                             (size_t)x->floats * sizeof *x->gradients, e);
    return status;
}

void step_sums_close(StepSums *x) {
    for (int i = 0; i < STEP_PARTS; i++)
        region_close(&x->aside[i]);
}

/* What this rank will have; the last part is being computed. */
static int step_sums_tell(StepSums *x, Error *e) {
    const strata_reducer *r = x->reducer;
    StepSums then = *x;
    step_sums_take(&then);
    memcpy(x->part, then.part, sizeof x->part);
    x->step = (strata_step){ .struct_size = sizeof x->step,
                             .leaves = x->leaves,
                             .gradients = x->floats,
                             .part = x->part,
                             .parts = then.parts,
                             .sum = x->gradients,
                             .pool = x->pool };
    return rank_status(r, r->begin(r->user, &x->step), "begin", e);
}

int step_sums_begin(StepSums *x, int64_t leaf, Error *e) {
    if (leaf == x->first) x->parts = 0;
    x->leaf = leaf;
    x->done = 0;
    x->failed = (Error){ 0 };
    complete(x, leaf, &x->joined);
    return x->reducer && is_last(x) ? step_sums_tell(x, e) : STATUS_OK;
}

strata_range_fn step_sums_final(const StepSums *x) {
    return x->leaves > 1 || x->reducer ? final : NULL;
}

int step_sums_end(StepSums *x, Error *e) {
    const strata_reducer *r = x->reducer;
    if (!step_sums_final(x)) return STATUS_OK;
    if (!x->failed.status) sum_until(x, x->floats);
    if (x->failed.status) {
        if (e) *e = x->failed;
        return x->failed.status;
    }
    if (!r || !is_last(x)) {
        step_sums_take(x);
        x->part[x->parts - 1].at = x->aside[x->parts - 1].at;
        return STATUS_OK;
    }
    return rank_status(r, r->end(r->user), "end", e);
}
