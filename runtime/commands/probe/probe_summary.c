/* SPDX-License-Identifier: MIT
** What weights of reads come to: shares by kind of sublayer, and sinks. */
#include "probe.h"

#include <math.h>
#include <string.h>

static double weight(const Probe *x, int r, int s) {
    return fabs(x->weight[(int64_t)r * x->sources + s]);
}

static double sum_of(const Probe *x, int r) {
    double sum = 0;
    for (int s = 0; s < x->sources; s++)
        sum += weight(x, r, s);
    return sum;
}

/* The newest source of read r: output of the sublayer before. */
static void add_read(const Probe *x, int r, ProbeShare *share) {
    double sum = sum_of(x, r), embedding = weight(x, r, 0) / sum, diagonal = weight(x, r, r) / sum;
    share->reads++;
    share->embedding += embedding;
    share->diagonal += diagonal;
    share->far += 1 - embedding - diagonal;
}

int probe_shares(const Probe *x, ProbeShare *share, int most) {
    int n = 0;
    /* read 0 has the embedding alone */
    for (int r = 1; x->weight && r < x->reads && r < x->sources; r++) {
        const char *kind = x->read_for[r];
        int k = 0;
        while (k < n && strcmp(share[k].kind, kind) != 0)
            k++;
        if (k == most || !(sum_of(x, r) > 0)) continue;
        if (k == n) share[n++] = (ProbeShare){ .kind = kind };
        add_read(x, r, &share[k]);
    }
    for (int k = 0; k < n; k++) {
        share[k].embedding /= share[k].reads;
        share[k].diagonal /= share[k].reads;
        share[k].far /= share[k].reads;
    }
    return n;
}

/* Sources that read r takes at all. */
static int taken(const Probe *x, int r, double sum) {
    int n = 0;
    for (int s = 0; s < x->sources; s++)
        n += weight(x, r, s) > 1e-4 * sum;
    return n;
}

static ProbeSink look_at(const Probe *x, int s) {
    ProbeSink k = { .source = s };
    int reads = 0;
    for (int r = s + 1; r < x->reads; r++) {
        double sum = sum_of(x, r);
        if (!(sum > 0)) continue;
        k.share += weight(x, r, s) / sum;
        k.even += 1.0 / fmax(taken(x, r, sum), 1);
        k.variation += x->deviation[(int64_t)r * x->sources + s]
            / fmax(weight(x, r, s), 1e-9 * sum);
        reads++;
    }
    if (reads > 0) k.share /= reads, k.even /= reads, k.variation /= reads;
    return k;
}

int probe_sinks(const Probe *x, ProbeSink *sink, int most) {
    int n = 0;
    for (int s = 0; x->weight && s < x->sources && n < most; s++) {
        ProbeSink k = look_at(x, s);
        if (k.share >= 2 * k.even && k.variation < 0.5 && k.share > 0) sink[n++] = k;
    }
    return n;
}
