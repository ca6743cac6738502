/* SPDX-License-Identifier: MIT
** A summary of the weights of reads: shares by kind of sublayer, sinks, and the first sentence.
*/
#include "probe.h"

#include <math.h>
#include <string.h>

#include "depth_map.h"
#include "site.h"

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

static ProbeSink summary_look_at(const Probe *x, int s) {
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
        ProbeSink k = summary_look_at(x, s);
        if (k.share >= 2 * k.even && k.variation < 0.5 && k.share > 0) sink[n++] = k;
    }
    return n;
}

bool probe_all_ones(const Probe *x) {
    return x->weight && x->reads == x->sources
        && depth_all_ones(x->weight, x->sources, PROBE_ALIKE);
}

/* == The first sentence =================================================== */

static void add_layer(const Probe *x, Text *t) {
    int best = 0;
    for (int i = 1; i < x->layers; i++)
        if (x->loss_increase[i] > x->loss_increase[best]) best = i;
    if (x->layers < 2 || !(x->loss_increase[best] > 0)) return;
    text_add(t, "%s matters most: +%s nats per token without it", x->layer_name[best],
             FIGURES(x->loss_increase[best], 3));
}

static void summary_add_sinks(const Probe *x, Text *t) {
    ProbeSink sink[16];
    int n = probe_sinks(x, sink, 16), most = 0;
    if (!x->weight) return;
    for (int i = 1; i < n; i++)
        if (sink[i].share > sink[most].share) most = i;
    text_add(t, t->length ? "; " : "");
    if (!n) text_add(t, "no sinks");
    else
        text_add(t, "%d sink%s, %s takes %.0f %% of later reads\xe2\x80\x99 weight", n,
                 n == 1 ? "" : "s", x->source_site[sink[most].source], 100 * sink[most].share);
}

/* Of reads that have a source between the embedding and the newest one. */
static void add_between(const Probe *x, Text *t) {
    double least = INFINITY, most = -INFINITY;
    int first = -1, last = -1;
    for (int r = 2; x->weight && r < x->reads && r < x->sources; r++) {
        double sum = sum_of(x, r);
        if (!(sum > 0) || site_layer(x->read_site[r]) < 0) continue;
        double far = 1 - (weight(x, r, 0) + weight(x, r, r)) / sum;
        least = fmin(least, far), most = fmax(most, far);
        last = site_layer(x->read_site[r]), first = first < 0 ? last : first;
    }
    if (first < 0) return;
    if (first == last) text_add(t, "; layer %d reads ", first);
    else text_add(t, "; layers %d\xe2\x80\x93%d read ", first, last);
    if (round(100 * least) == round(100 * most)) text_add(t, "%.0f %%", 100 * most);
    else text_add(t, "%.0f\xe2\x80\x93%.0f %%", 100 * least, 100 * most);
    text_add(t, " from between the embedding and the newest source");
}

static void summary_add_routed(const Probe *x, Text *t) {
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < x->routes; i++)
        least = fmin(least, x->routed[i]), most = fmax(most, x->routed[i]);
    if (!x->routes) return;
    text_add(t, "%s%d route%s take%s ", t->length ? "; " : "", x->routes, x->routes == 1 ? "" : "s",
             x->routes == 1 ? "s" : "");
    if (round(100 * least) == round(100 * most)) text_add(t, "%.0f %%", 100 * most);
    else text_add(t, "%.0f\xe2\x80\x93%.0f %%", 100 * least, 100 * most);
    text_add(t, " of the tokens");
}

void probe_headline(const Probe *x, Text *t) {
    add_layer(x, t);
    if (!probe_all_ones(x)) {
        summary_add_sinks(x, t);
        add_between(x, t);
    }
    summary_add_routed(x, t);
}
