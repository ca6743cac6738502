/* SPDX-License-Identifier: MIT
** Sampling: logits of tokens that were seen, punished (arXiv 1909.05858); tokens by falling logit
** (ties by id), cut by top-k, softmax in double at the temperature, cut by top-p and by min-p, one
** uniform number by (seed, position).
*/
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

int sampler_open(Sampler *s, int32_t ids, Error *e) {
    s->ids = ids;
    s->order = calloc((size_t)ids, sizeof *s->order);
    s->weight = calloc((size_t)ids, sizeof *s->weight);
    size_t each = sizeof *s->order + sizeof *s->weight;
    bool whole = s->order && s->weight;
    if (s->how.penalty != 1 && s->how.penalty > 0) {
        s->seen = calloc((size_t)ids, sizeof *s->seen);
        s->logits = calloc((size_t)ids, sizeof *s->logits);
        each += sizeof *s->seen + sizeof *s->logits;
        whole = whole && s->seen && s->logits;
    }
    if (whole) return STATUS_OK;
    sampler_close(s);
    return error_memory(e, "sampling", (size_t)ids * each);
}

void sampler_close(Sampler *s) {
    free(s->order);
    free(s->weight);
    free(s->seen);
    free(s->logits);
    s->order = NULL;
    s->weight = NULL;
    s->seen = NULL;
    s->logits = NULL;
}

bool sampler_see(Sampler *s, int32_t id) {
    if (!s->seen || id < 0 || id >= s->ids || s->seen[id]) return false;
    return s->seen[id] = true;
}

void sampler_unsee(Sampler *s, int32_t id) {
    if (s->seen && id >= 0 && id < s->ids) s->seen[id] = false;
}

void sampler_forget(Sampler *s) {
    if (s->seen) memset(s->seen, 0, (size_t)s->ids * sizeof *s->seen);
}

/* What was there already becomes less likely. */
static const float *punished(const Sampler *s, const float *logits) {
    if (!s->seen) return logits;
    for (int32_t i = 0; i < s->ids; i++) {
        double x = logits[i];
        s->logits[i] = (float)(!s->seen[i] ? x : x > 0 ? x / s->how.penalty : x * s->how.penalty);
    }
    return s->logits;
}

static int32_t likeliest(const float *logits, int32_t n) {
    int32_t best = 0;
    for (int32_t i = 0; i < n; i++) {
        if (!isfinite(logits[i])) return -1;
        if (logits[i] > logits[best]) best = i;
    }
    return best;
}

static bool sample_before(const float *logits, int32_t a, int32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

/* Moves order[i] down a heap whose root is the likeliest. */
static void sift(int32_t *order, int32_t n, int32_t i, const float *logits) {
    for (int32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && sample_before(logits, order[child + 1], order[child])) child++;
        if (!sample_before(logits, order[child], order[i])) return;
        int32_t t = order[i];
        order[i] = order[child];
        order[child] = t;
    }
}

/* Takes the likeliest of the n left on the heap to the heap's end; returns it. */
static int32_t pop(int32_t *order, int32_t n, const float *logits) {
    int32_t top = order[0];
    order[0] = order[n - 1];
    order[n - 1] = top;
    sift(order, n - 1, 0, logits);
    return top;
}

/* The first n are those that min-p leaves, of which 'total' is the mass: the likeliest weighs 1. */
static int32_t likely_enough(const Sampler *s, int32_t n, double *total) {
    double mass = 0;
    for (int32_t i = 0; i < n; i++) {
        if (i > 0 && s->weight[i] < s->how.min_p) {
            *total = mass;
            return i;
        }
        mass += s->weight[i];
    }
    return n;
}

/*
** weight[i] = probability (not normalised) of the i-th likeliest, which is at
** order[ids-1-i]; returns how many can be drawn.  Sorts no more than it needs.
*/
static int32_t candidates(Sampler *s, const float *logits, double *total) {
    int32_t k = s->how.top_k > 0 && s->how.top_k < s->ids ? (int32_t)s->how.top_k : s->ids;
    for (int32_t i = 0; i < s->ids; i++)
        s->order[i] = i;
    for (int32_t i = s->ids / 2 - 1; i >= 0; i--)
        sift(s->order, s->ids, i, logits);
    double first = logits[s->order[0]], all = 0;
    if (k == s->ids) /* the mass that top-p is a share of, before sorting */
        for (int32_t i = 0; i < s->ids; i++)
            all += exp((logits[i] - first) / s->how.temperature);
    *total = 0;
    int32_t n = 0;
    for (; n < k && (n == 0 || k < s->ids || *total < s->how.top_p * all); n++) {
        int32_t id = pop(s->order, s->ids - n, logits);
        s->weight[n] = exp((logits[id] - first) / s->how.temperature);
        *total += s->weight[n];
    }
    if (k == s->ids) return n;
    double mass = 0, wanted = s->how.top_p * *total;
    for (int32_t i = 0; i < n; i++) {
        if (i > 0 && mass >= wanted) {
            n = i;
            break;
        }
        mass += s->weight[i];
    }
    *total = mass;
    return n;
}

int32_t sampler_next(Sampler *s, const float *logits, int64_t position) {
    logits = punished(s, logits);
    int32_t best = likeliest(logits, s->ids);
    if (best < 0 || s->how.temperature == 0 || s->how.top_k == 1) return best;
    double total;
    int32_t n = candidates(s, logits, &total);
    if (s->how.min_p > 0) n = likely_enough(s, n, &total);
    double at = random_uniform(s->how.seed, 0, (uint64_t)position) * total;
    int32_t i = 0;
    for (; i < n - 1 && at >= s->weight[i]; i++)
        at -= s->weight[i];
    return s->order[s->ids - 1 - i];
}
