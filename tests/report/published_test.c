/*
** The papers' numbers beside ours: every analytic figure that concerns what this
** version has, from the compiler (strata inspect) or computed here by the convention
** that is printed.  tests/published.txt is the output; STRATA_UPDATE=1 writes it anew.
** A figure that does not come out as it is known to fails the test.
*/
#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mixing.h"
#include "published.h"
#include "random.h"
#include "report.h"
#include "scratch.h"

/* == Specs ================================================================ */

typedef struct Sizes {
    int layers, dim, hidden, vocab;
} Sizes;

static void **folder;

static Report *report_how(const char *residual, Sizes s, TwoPhase how) {
    char path[SCRATCH_PATH];
    Error e = { 0 };
    FILE *f = fopen(scratch_path(folder, "paper.lua", path), "w");
    assert_non_null(f);
    fprintf(f,
            "return model { name = 'paper', vocab = %d, context = 512, dim = %d, norm = rmsnorm "
            "{}, residual = %s,\n"
            "  layers = times(%d, layer { attention { heads = 8, rope = {} }, mlp { hidden = %d, "
            "activation = 'swiglu' } }),\n"
            "  train = { batch = 16 } }\n",
            s.vocab, s.dim, residual, s.layers, s.hidden);
    assert_int_equal(fclose(f), 0);
    Report *r = report_new(path, &(ReportOptions){ .cpu = "x86-64-v3", .passes.two_phase = how },
                           &e);
    if (!r) fail_msg("%s", e.text);
    return r;
}

/* With every read a pass of its own. */
static Report *report_of(const char *residual, Sizes s) {
    return report_how(residual, s, TWO_PHASE_OFF);
}

static const Sizes small_48 = { 48, 128, 1024, 256 }, medium_48 = { 48, 512, 2048, 256 };

static Sizes at_depth(Sizes s, int layers) {
    s.layers = layers;
    return s;
}

static int64_t parameters(const char *residual, Sizes s) {
    Report *r = report_of(residual, s);
    int64_t n = r->model->parameters;
    report_free(r);
    return n;
}

/* == HAARES and Block AttnRes ============================================= */

static void source_counts(void) {
    static const struct {
        const char *residual;
        int layers;
        double average;
        int most;
    } row[] = {
        { "attnres { blocks = 4 }", 48, 3.4583, 5 }, { "haares { blocks = 4 }", 48, 5.9167, 9 },
        { "attnres { blocks = 6 }", 48, 4.4375, 7 }, { "haares { blocks = 6 }", 48, 7.875, 13 },
        { "attnres { blocks = 8 }", 48, 5.4167, 9 }, { "haares { blocks = 8 }", 48, 9.8333, 17 },
        { "attnres { blocks = 4 }", 12, 3.3333, 5 }, { "haares { blocks = 4 }", 12, 5.6667, 9 },
        { "attnres { blocks = 4 }", 24, 3.4167, 5 }, { "haares { blocks = 4 }", 24, 5.8333, 9 },
        { "attnres { full = true }", 12, 12.5, 24 }, { "attnres { full = true }", 24, 24.5, 48 },
        { "attnres { full = true }", 48, 48.5, 96 },
    };
    heading("1. Sources of a read, the 2 L reads before sublayers (arXiv 2606.06564, Table 1)");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char what[96];
        Report *r = report_of(row[i].residual, at_depth(small_48, row[i].layers));
        print_text(what, sizeof what, "%s, %d layers: average", row[i].residual, row[i].layers);
        equal(what, r->sources_average, row[i].average, 4, "the final read is left out");
        print_text(what, sizeof what, "%s, %d layers: most", row[i].residual, row[i].layers);
        count(what, r->sources_most, row[i].most, "");
        report_free(r);
    }
    Report *r = report_of("attnres { blocks = 1 }", small_48);
    count("attnres { blocks = 1 }, 48 layers: most", r->sources_most, 2, "");
    report_free(r);
}

static void parameter_counts(void) {
    static const struct {
        const char *what;
        Sizes s;
        int64_t published;
    } row[] = {
        { "D 128, hidden 1024, 12 layers", { 12, 128, 1024, 256 }, 5540992 },
        { "D 128, 24 layers", { 24, 128, 1024, 256 }, 11049088 },
        { "D 128, 48 layers", { 48, 128, 1024, 256 }, 22065280 },
        { "D 512, hidden 2048, 12 layers", { 12, 512, 2048, 256 }, 50475520 },
        { "D 512, 24 layers", { 24, 512, 2048, 256 }, 100819456 },
        { "D 512, 48 layers", { 48, 512, 2048, 256 }, 201507328 },
        { "D 512, 48 layers, vocabulary 4096", { 48, 512, 2048, 4096 }, 203473408 },
        { "D 768, hidden 3072, 48 layers", { 48, 768, 3072, 256 }, 453255936 },
    };
    heading("2. Parameters, tied embedding, vocabulary 256");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        count(row[i].what, parameters("standard {}", row[i].s), row[i].published, "");
    int64_t plain = parameters("standard {}", medium_48), reads = 2 * (2 * 48 + 1) * 512, L = 48,
            D = 512;
    count("attnres { blocks = 4 } adds", parameters("attnres { blocks = 4 }", medium_48) - plain,
          reads, "2 (2 L + 1) D");
    count("haares { blocks = 4 } adds", parameters("haares { blocks = 4 }", medium_48) - plain,
          reads + 4, "2 (2 L + 1) D + N");
    count("rezero adds", parameters("rezero {}", medium_48) - plain, 2 * L, "2 L");
    count("layerscale adds", parameters("layerscale {}", medium_48) - plain, 2 * L * D, "2 L D");
}

static void recipe(void) {
    heading("3. Recipe");
    Error e = { 0 };
    Report *r = report_new("specs/papers/haares/haares-small-48.lua",
                           &(ReportOptions){ .cpu = "x86-64-v3" }, &e);
    if (!r) fail_msg("%s", e.text);
    count("specs/papers/haares/haares-small-48.lua: context", r->model->context, 512, "");
    count("specs/papers/haares/haares-small-48.lua: batch", r->model->train.batch, 16, "");
    count("specs/papers/haares/haares-small-48.lua: seed", (int64_t)r->model->train.seed, 42,
          "123 and 2026 by --seed, the order by --data-seed 42");
    report_free(r);
}

static double family(const Report *r, const char *name) {
    for (int i = 0; i < r->nfamily; i++)
        if (!strcmp(r->family[i].name, name)) return r->family[i].work[FORWARD].flops;
    return 0;
}

/* Percent of the work in products and attention that haares takes more than attnres. */
static double executed_more(Sizes s, double *sources) {
    Report *a = report_of("attnres { blocks = 4 }", s), *h = report_of("haares { blocks = 4 }", s);
    double more = 100 * (family(h, "row") - family(a, "row"))
        / (family(a, "product") + family(a, "sequence"));
    *sources = h->sources_average - a->sources_average;
    report_free(a), report_free(h);
    return more;
}

static void extra_work(void) {
    static const struct {
        const char *what;
        int dim;
        double published;
    } row[] = {
        { "D 128, percent", 128, 0.320 },
        { "D 512, percent", 512, 0.080 },
        { "D 768, percent", 768, 0.053 },
    };
    double sources, counted = executed_more(small_48, &sources), D = 128, H = 1024;
    heading("4. FLOPs of HAARES beyond Block AttnRes, N = 4, 48 layers, in percent");
    for (int i = 0; i < 3; i++)
        equal(row[i].what, 100 * sources * 4 * row[i].dim / (24.0 * row[i].dim * row[i].dim),
              row[i].published, 3, "the paper's: 4 D a source over 24 D^2");
    equal("true small shape, dot and mix only", 100 * 2 * sources * 4 * D / (8 * D * D + 6 * D * H),
          0.27, 2, "2 reads a layer, 8 D^2 + 6 D H for projections");
    differs(
        "true small shape, all of it", counted, 0.475, 3, "0.49",
        "ours counts every operation of the compiled kernels, over products and causal attention");
    differs("D 512, all of it", executed_more(medium_48, &sources), 0.221, 3, "0.080",
            "norms of sources and details are not in the paper's formula, and there are 2 reads a "
            "layer");
    heading("5. 7. Time overhead and time to match are measurements, not computed here");
}

/* == Identities =========================================================== */

static const double bonus = -0.7; /* bias of the details */

/* AttnRes that adds 'bonus' to the logit of every source but the embedding. */
static const char favours[] =
    "local function read(m, state, site, bonus)\n"
    "  local list, more = { state.e }, { 0 }\n"
    "  for _, v in ipairs(state.blocks) do list[#list + 1], more[#more + 1] = v.sum, bonus end\n"
    "  local V, q = stack(list), m:param(site, 'query', { m.dim }, 0) * m:param(site, "
    "'key_norm.weight', { m.dim }, 1)\n"
    "  local z = sum(V * q, 2) * rsqrt(mean(V * V, 2) + m.eps) + stack(more)\n"
    "  return sum(reshape(softmax(z, 1), { #list, 1 }) * V, 1)\n"
    "end\n"
    "return mixer { options = { bonus = { type = 'number' } },\n"
    "  open = function(m, e) return { e = e, blocks = {} } end,\n"
    "  read = function(m, state, site) return read(m, state, site, m.options.bonus) end,\n"
    "  write = function(m, state, site, out)\n"
    "    local last = state.blocks[#state.blocks]\n"
    "    if last and last.count < 3 then last.sum, last.count = last.sum + out, last.count + 1\n"
    "    else state.blocks[#state.blocks + 1] = { sum = out, count = 1 } end\n"
    "    return state\n"
    "  end,\n"
    "  close = function(m, state, site) return read(m, state, site, 0) end }\n";

typedef struct Values {
    double *by_id[2048];
} Values;

static const double *value_of(void *user, const Node *p) {
    double **v = &((Values *)user)->by_id[p->id];
    int64_t n = shape_count(&p->shape);
    assert_true(p->id < 2048);
    if (*v) return *v;
    float *f = malloc((size_t)n * sizeof *f);
    *v = malloc((size_t)n * sizeof **v);
    random_normal(8, random_stream(p->attr.name), 0, n, 0.5, f);
    for (int64_t i = 0; i < n; i++)
        (*v)[i] = f[i];
    free(f);
    return *v;
}

enum { TOKENS = 6, VOCAB = 16 };

/* The logits of a small model, by parameters' names the same for all residuals. */
static void logits_of(const char *residual, double out[TOKENS * VOCAB]) {
    Report *r = report_of(residual, (Sizes){ 4, 16, 16, VOCAB });
    Values values = { 0 };
    int32_t ids[TOKENS] = { 3, 1, 4, 1, 5, 9 };
    Eval *ev = eval_new(r->model->graph,
                        &(EvalInput){ .batch = 1,
                                      .time = TOKENS,
                                      .tokens = ids,
                                      .param = value_of,
                                      .user = &values,
                                      .seed = 1 });
    memcpy(out, eval_value(ev, graph_find(r->model->graph, "logits")),
           TOKENS * VOCAB * sizeof *out);
    eval_free(ev);
    for (int i = 0; i < 2048; i++)
        free(values.by_id[i]);
    report_free(r);
}

static double difference(const char *one, const char *other) {
    double a[TOKENS * VOCAB], b[TOKENS * VOCAB], most = 0;
    logits_of(one, a), logits_of(other, b);
    for (int i = 0; i < TOKENS * VOCAB; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

static void identities(void) {
    char path[SCRATCH_PATH], duplicate[96], favoured[96];
    scratch_write(scratch_path(folder, "favours.lua", path), favours, sizeof favours - 1);
    print_text(duplicate, sizeof duplicate,
               "haares { block_size = 3, detail = 'duplicate', bias = %g }", bonus);
    print_text(favoured, sizeof favoured, "require 'favours' { bonus = %.17g }",
               log(1 + exp(bonus)));
    heading("6. Identities: the largest difference of logits, float64");
    equal("haares with bias -1000, attnres of the same blocks",
          difference("haares { block_size = 3, bias = -1000 }", "attnres { block_size = 3 }"), 0,
          12, "");
    equal("haares with details duplicated, attnres with ln(1 + e^b) for blocks",
          difference(duplicate, favoured), 0, 12, "b = -0.7");
    if (difference(duplicate, "attnres { block_size = 3 }") < 1e-3)
        fail_msg("the bias makes no difference");
}

/* == Attention Residuals ================================================== */

static void traffic(void) {
    double S = 16, N = 8, m = 4;
    Sizes s = { 64, 128, 256, 256 };
    heading("8. Traffic of residual and read, rows of D floats a read, 128 reads (arXiv "
            "2603.15031, Table 1)");
    equal("standard: read, previous output, write", 1 + 1 + 1, 3, 0, "the paper's accounting");
    equal("mHC, 4 streams", 8 * m + 2, 34, 0, "and 2 m^2 + 4 m numbers");
    equal("AttnRes, full, two phases", S + N, 24, 0, "the paper's accounting");
    equal("AttnRes, blocks, two phases", N / S + 5, 5.5, 1, "the paper's accounting");
    Report *r = report_of("standard {}", s);
    equal("standard, as compiled, after the first read", (r->traffic.all * 128 - 2) / 127, 4, 1,
          "with the sublayer's normalised input");
    equal("standard, as compiled, residual and read alone", (r->traffic.mixing * 128 - 1) / 127, 3,
          1, "");
    report_free(r);
    r = report_of("attnres { blocks = 8 }", s);
    equal("AttnRes, 8 blocks, as compiled: one fused pass", r->traffic.all, 8.3, 1,
          "sources, delta, snapshot and next norm");
    report_free(r);
    r = report_how("attnres { blocks = 8 }", s, TWO_PHASE_ON);
    differs("AttnRes, 8 blocks, as compiled in two phases, residual and read alone",
            r->traffic.mixing, 4.9, 1, "5.5", "the first result of a group is never written");
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

static void prefill_and_kimi(void) {
    double bytes = 131072.0 * 8 * 7168 * 2;
    heading("11. Block representations in prefill, 131072 tokens, 8 blocks, width 7168, 2 bytes");
    equal("GB", bytes / 1e9, 15.03, 2, "");
    equal("GB on each of 8 devices", bytes / 8e9, 1.88, 2, "");
    equal("GB in chunks of 16384 tokens", bytes / 8e9 * 16384 / 131072, 0.235, 3, "");
    Report *r = report_of("attnres { block_size = 6 }", at_depth(small_48, 27));
    heading("12. Kimi Linear 48B: 27 layers, 6 sublayers a block");
    count("sublayers", r->model->sublayers, 54, "");
    count("reads", r->model->nread, 55, "");
    count("sources of the final read", r->model->read[54].sources, 10,
          "9 blocks and the embedding");
    equal("sources, average", r->sources_average, 5.833, 3, "");
    text_add(&table, "  its 49.1 B parameters: not in this version (kda, mla, moe)\n");
    report_free(r);
}

/* == The depth-mixing matrix ============================================== */

static int largest_rank(const char *residual, double *row_error) {
    Report *r = report_of(residual, (Sizes){ 12, 64, 64, 64 });
    Error e = { 0 };
    Mixing *x = mixing_measure(r->model, WEIGHTS_RANDOM, 3, &e);
    if (!x) fail_msg("%s", e.text);
    int most = 0;
    *row_error = 0;
    for (int k = 0; k < x->size; k++) {
        int rank = mixing_rank(x, k);
        double sum = 0;
        for (int s = 0; s < x->size; s++)
            sum += x->mean[k * x->size + s];
        most = rank > most ? rank : most;
        *row_error = fmax(*row_error, fabs(sum - 1));
    }
    mixing_free(x);
    report_free(r);
    return most;
}

static void ranks(void) {
    double sums;
    heading("13. Depth-mixing matrix of 24 sublayers on random weights: the largest rank of a "
            "block below the diagonal");
    count("standard", largest_rank("standard {}", &sums), 1, "");
    count("highway", largest_rank("highway {}", &sums), 1, "1-semiseparable");
    equal("highway: rows sum to 1, largest error", sums, 0, 9, "");
    for (int m = 2; m <= 4; m++) {
        char what[64];
        print_text(what, sizeof what, "hyper { streams = %d }", m);
        count(what, largest_rank(what, &sums), m, "at most m");
    }
    int block = largest_rank("attnres { blocks = 4 }", &sums);
    char ours[16];
    print_text(ours, sizeof ours, "%d", block);
    line("attnres { blocks = 4 }, 6 sublayers a block", ours, "4 to 10",
         block >= 4 && block <= 10 ? "equal (N to N + S)" : "WRONG");
    wrong += block < 4 || block > 10;
    count("attnres { full = true }: dense", largest_rank("attnres { full = true }", &sums), 13,
          "half of 25 reads, rounded up");
    equal("attnres { full = true }: rows sum to 1, largest error", sums, 0, 9, "");
}

/* == Depth Routing Residuals ============================================== */

static Report *listing(const char *residual) {
    char path[SCRATCH_PATH];
    Error e = { 0 };
    FILE *f = fopen(scratch_path(folder, "listing.lua", path), "w");
    assert_non_null(f);
    fprintf(f,
            "return model { name = 'listing', vocab = 32000, context = 2048, dim = 512, norm = "
            "layernorm {}, residual = %s,\n"
            "  embedding = { positions = 'learned' }, layers = times(12, layer {\n"
            "    attention { heads = 8, bias = true, causal = false }, mlp { hidden = 2048, "
            "activation = 'gelu', bias = true } }) }\n",
            residual);
    assert_int_equal(fclose(f), 0);
    Report *r = report_new(path, &(ReportOptions){ .cpu = "x86-64-v3" }, &e);
    if (!r) fail_msg("%s", e.text);
    return r;
}

static void depth_routing(void) {
    Report *plain = listing("standard {}"), *routed = listing("drr { heads = 8 }");
    double head = 2.0 * 32000 * 512, idle = (1 + 4) * 4 * 512 * 512, most = exp(2) + 1 + exp(-0.5);
    heading("14. Depth Routing Residuals, the listing: 12 layers, D 512, vocabulary 32000, context "
            "2048");
    count("parameters without", plain->model->parameters, 55262208, "");
    differs("parameters", (double)routed->model->parameters, 78631460, 0, "83874340",
            "5 of the listing's attention modules, 5242880 numbers, have nothing to read: they do "
            "not exist here");
    count("parameters and those", routed->model->parameters + (int64_t)idle, 83874340, "");
    differs("parameters more, percent",
            100 * ((double)routed->model->parameters + idle) / (double)plain->model->parameters
                - 100,
            51.8, 1, "0.8", "the listing's own modules have so many");
    differs("forward work more, percent, head left out",
            100 * (routed->work[FORWARD].flops - head) / (plain->work[FORWARD].flops - head) - 100,
            189.9, 1, "1.5",
            "memories are attended to at every position; 179 by a count of the listing, which "
            "projects summaries once, not for every token");
    differs("memory positions at the last layer, percent fewer",
            100 - 100 * (4 * 2048 + 2 * 8) / (12 * 2048.0), 66.6, 1, "65",
            "4 layers of 2048 positions and 2 summaries of 8 take the place of 12 layers");
    equal("router at the start: the stream", exp(2) / most, 0.8214, 4, "softmax of 2, 0, -0.5");
    equal("router at the start: short memory", 1 / most, 0.1112, 4, "");
    equal("router at the start: long memory", exp(-0.5) / most, 0.0674, 4, "");
    report_free(plain), report_free(routed);
}

/* == All of it ============================================================ */

static void compare(void) {
    size_t n;
    char *there = scratch_read("tests/published.txt", &n);
    if (getenv("STRATA_UPDATE")) scratch_write("tests/published.txt", table.at, table.length);
    else if (!there || n != table.length || memcmp(there, table.at, n))
        fail_msg(
            "tests/published.txt is not what this test prints; STRATA_UPDATE=1 %s writes it anew",
            "published_test");
    free(there);
}

static void published_numbers(void **state) {
    folder = state;
    text_add(
        &table,
        "The papers' analytic numbers beside ours, written by tests/report/published_test.c.\n\n");
    line("", "ours", "published", "");
    source_counts();
    parameter_counts();
    recipe();
    extra_work();
    identities();
    traffic();
    merge();
    pipeline();
    prefill_and_kimi();
    ranks();
    depth_routing();
    published_routes(folder);
    if (table.at) fputs(table.at, stdout);
    assert_int_equal(wrong, 0);
    compare();
    text_free(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(
        published_numbers, scratch_setup, scratch_teardown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
