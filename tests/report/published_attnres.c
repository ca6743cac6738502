/* SPDX-License-Identifier: MIT
** The numbers of the paper on Attention Residuals (arXiv 2603.15031): traffic, the merge of two
** phases, blocks between ranks of a pipeline and in prefill.
*/
#include "test.h"

#include <math.h>

#include "published.h"
#include "published_spec.h"
#include "random.h"

static void traffic(void **folder) {
    double S = 16, N = 8, m = 4;
    Sizes s = { 64, 128, 256, 256 };
    heading("8. Traffic of residual and read, rows of D floats a read, 128 reads (arXiv "
            "2603.15031, Table 1)");
    equal("standard: read, previous output, write", 1 + 1 + 1, 3, 0, "the paper's accounting");
    equal("mHC, 4 streams", 8 * m + 2, 34, 0, "and 2 m^2 + 4 m numbers");
    equal("AttnRes, full, two phases", S + N, 24, 0, "the paper's accounting");
    equal("AttnRes, blocks, two phases", N / S + 5, 5.5, 1, "the paper's accounting");
    Report *r = paper_report(folder, "standard {}", s);
    equal("standard, as compiled, after the first read", (r->traffic.all * 128 - 2) / 127, 4, 1,
          "with the sublayer's normalised input");
    equal("standard, as compiled, residual and read alone", (r->traffic.mixing * 128 - 1) / 127, 3,
          1, "");
    report_free(r);
    r = paper_report(folder, "attnres { blocks = 8 }", s);
    equal("AttnRes, 8 blocks, as compiled: one fused pass", r->traffic.all, 8.3, 1,
          "sources, delta, snapshot and next norm");
    report_free(r);
    r = paper_report_how(folder, "attnres { blocks = 8 }", s, TWO_PHASE_ON);
    differs("AttnRes, 8 blocks, as compiled in two phases, residual and read alone",
            r->traffic.mixing, 5.0, 1, "5.5",
            "a group's first result is written only where two groups begin in one pass");
    report_free(r);
}

/* Softmax of sources in two parts, merged, against all at once. */
static void merge(void) {
    enum { SOURCES = 9, FIRST = 6 };
    float z[SOURCES], v[SOURCES];
    double o[2] = { 0 }, l[2] = { 0 }, m[2] = { -INFINITY, -INFINITY }, all = 0, sum = 0;
    random_normal(1, 1, 0, SOURCES, 3, z);
    random_normal(1, 2, 0, SOURCES, 1, v);
    for (int i = 0; i < SOURCES; i++)
        m[i >= FIRST] = fmax(m[i >= FIRST], z[i]);
    for (int i = 0; i < SOURCES; i++) {
        double w = exp(z[i] - m[i >= FIRST]);
        o[i >= FIRST] += w * v[i], l[i >= FIRST] += w;
        all += exp(z[i]) * v[i], sum += exp(z[i]);
    }
    double most = fmax(m[0], m[1]), a = exp(m[0] - most), b = exp(m[1] - most);
    heading("9. Two-phase merge of partial softmaxes");
    equal("merged, minus all at once",
          fabs((a * o[0] + b * o[1]) / (a * l[0] + b * l[1]) - all / sum), 0, 12, "");
}

/* Stage c runs on rank c mod P; a hop sends what the next rank has not got. */
static void hops(int P, int V, bool cached, bool own, int *total, int *most) {
    *total = *most = 0;
    for (int to = 1; to < P * V; to++) {
        int before = to - P; /* the rank's stage before, if there is one */
        int has = cached && before >= 0 ? before + own : 0;
        int sent = to - has;
        *total += sent;
        if (sent > *most) *most = sent;
    }
}

static void pipeline(void) {
    static const struct {
        int P, V, naive, cached, own, peak, peak_cached;
    } row[] = {
        { 4, 2, 28, 22, 18, 7, 4 },
        { 4, 4, 120, 54, 42, 15, 4 },
        { 8, 2, 120, 92, 84, 15, 8 },
        { 8, 4, 496, 220, 196, 31, 8 },
    };
    heading("10. Pipeline traffic, P ranks of V stages, in blocks of a chunk: hops simulated one "
            "by one");
    for (int i = 0; i < 4; i++) {
        char what[64];
        int total, most;
        hops(row[i].P, row[i].V, false, false, &total, &most);
        print_text(what, sizeof what, "P %d, V %d: all sent", row[i].P, row[i].V),
            count(what, total, row[i].naive, "C (C - 1) / 2");
        print_text(what, sizeof what, "P %d, V %d: most at a hop", row[i].P, row[i].V),
            count(what, most, row[i].peak, "");
        hops(row[i].P, row[i].V, true, false, &total, &most);
        print_text(what, sizeof what, "P %d, V %d: cached", row[i].P, row[i].V),
            count(what, total, row[i].cached, "P (P - 1) / 2 + (V - 1) P^2");
        print_text(what, sizeof what, "P %d, V %d: cached, most at a hop", row[i].P, row[i].V),
            count(what, most, row[i].peak_cached, "");
        hops(row[i].P, row[i].V, true, true, &total, &most);
        print_text(what, sizeof what, "P %d, V %d: cached, own blocks kept", row[i].P, row[i].V),
            count(what, total, row[i].own, "P (P - 1) (V - 1/2)");
    }
}

static void prefill_and_kimi(void **folder) {
    double bytes = 131072.0 * 8 * 7168 * 2;
    heading("11. Block representations in prefill, 131072 tokens, 8 blocks, width 7168, 2 bytes");
    equal("GB", bytes / 1e9, 15.03, 2, "");
    equal("GB on each of 8 devices", bytes / 8e9, 1.88, 2, "");
    equal("GB in chunks of 16384 tokens", bytes / 8e9 * 16384 / 131072, 0.235, 3, "");
    Report *r = paper_report(folder, "attnres { block_size = 6 }", at_depth(small_48, 27));
    heading("12. Kimi Linear 48B: 27 layers, 6 sublayers a block");
    count("sublayers", r->model->sublayers, 54, "");
    count("reads", r->model->nread, 55, "");
    count("sources of the final read", r->model->read[54].sources, 10,
          "9 blocks and the embedding");
    equal("sources, average", r->sources_average, 5.833, 3, "");
    text_add(&table, "  its 49.1 B parameters: not in this version (mla, moe)\n");
    report_free(r);
}

void published_attnres(void **folder) {
    traffic(folder);
    merge();
    pipeline();
    prefill_and_kimi(folder);
}
