/* SPDX-License-Identifier: MIT
** The HAARES paper's numbers (arXiv 2606.06564): sources, parameters and work, and the residuals
** that it is the same as.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "published.h"
#include "published_spec.h"
#include "random.h"
#include "scratch.h"

/* == Sources, parameters and work ========================================= */

static const Sizes medium_48 = { 48, 512, 2048, 256 };

static int64_t parameters(void **folder, const char *residual, Sizes s) {
    Report *r = paper_report(folder, residual, s);
    int64_t n = r->model->parameters;
    report_free(r);
    return n;
}

static void source_counts(void **folder) {
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
        Report *r = paper_report(folder, row[i].residual, at_depth(small_48, row[i].layers));
        print_text(what, sizeof what, "%s, %d layers: average", row[i].residual, row[i].layers);
        equal(what, r->sources_average, row[i].average, 4, "the final read is left out");
        print_text(what, sizeof what, "%s, %d layers: most", row[i].residual, row[i].layers);
        count(what, r->sources_most, row[i].most, "");
        report_free(r);
    }
    Report *r = paper_report(folder, "attnres { blocks = 1 }", small_48);
    count("attnres { blocks = 1 }, 48 layers: most", r->sources_most, 2, "");
    report_free(r);
}

static void parameter_counts(void **folder) {
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
        count(row[i].what, parameters(folder, "standard {}", row[i].s), row[i].published, "");
    int64_t plain = parameters(folder, "standard {}", medium_48), reads = 2 * (2 * 48 + 1) * 512,
            L = 48, D = 512;
    count("attnres { blocks = 4 } adds",
          parameters(folder, "attnres { blocks = 4 }", medium_48) - plain, reads, "2 (2 L + 1) D");
    count("haares { blocks = 4 } adds",
          parameters(folder, "haares { blocks = 4 }", medium_48) - plain, reads + 4,
          "2 (2 L + 1) D + N");
    count("rezero adds", parameters(folder, "rezero {}", medium_48) - plain, 2 * L, "2 L");
    count("layerscale adds", parameters(folder, "layerscale {}", medium_48) - plain, 2 * L * D,
          "2 L D");
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
static double executed_more(void **folder, Sizes s, double *sources) {
    Report *a = paper_report(folder, "attnres { blocks = 4 }", s),
           *h = paper_report(folder, "haares { blocks = 4 }", s);
    double more = 100 * (family(h, "row") - family(a, "row"))
        / (family(a, "product") + family(a, "sequence"));
    *sources = h->sources_average - a->sources_average;
    report_free(a), report_free(h);
    return more;
}

static void extra_work(void **folder) {
    static const struct {
        const char *what;
        int dim;
        double published;
    } row[] = {
        { "D 128, percent", 128, 0.320 },
        { "D 512, percent", 512, 0.080 },
        { "D 768, percent", 768, 0.053 },
    };
    double sources, counted = executed_more(folder, small_48, &sources), D = 128, H = 1024;
    heading("4. FLOPs of HAARES beyond Block AttnRes, N = 4, 48 layers, in percent");
    for (int i = 0; i < 3; i++)
        equal(row[i].what, 100 * sources * 4 * row[i].dim / (24.0 * row[i].dim * row[i].dim),
              row[i].published, 3, "the paper's: 4 D a source over 24 D^2");
    equal("true small shape, dot and mix only", 100 * 2 * sources * 4 * D / (8 * D * D + 6 * D * H),
          0.27, 2, "2 reads a layer, 8 D^2 + 6 D H for projections");
    differs(
        "true small shape, all of it", counted, 0.486, 3, "0.49",
        "ours counts every operation of the compiled kernels, over products and causal attention");
    differs("D 512, all of it", executed_more(folder, medium_48, &sources), 0.227, 3, "0.080",
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
    random_normal(8, random_stream(p->attr->name), 0, n, 0.5, f);
    for (int64_t i = 0; i < n; i++)
        (*v)[i] = f[i];
    free(f);
    return *v;
}

enum { TOKENS = 6, VOCAB = 16 };

/* The logits of a small model, by parameters' names the same for all residuals. */
static void logits_of(void **folder, const char *residual, double out[TOKENS * VOCAB]) {
    Report *r = paper_report(folder, residual, (Sizes){ 4, 16, 16, VOCAB });
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

static double difference(void **folder, const char *one, const char *other) {
    double a[TOKENS * VOCAB], b[TOKENS * VOCAB], most = 0;
    logits_of(folder, one, a), logits_of(folder, other, b);
    for (int i = 0; i < TOKENS * VOCAB; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

static void identities(void **folder) {
    char path[SCRATCH_PATH], duplicate[96], favoured[96];
    scratch_write(scratch_path(folder, "favours.lua", path), favours, sizeof favours - 1);
    print_text(duplicate, sizeof duplicate,
               "haares { block_size = 3, detail = 'duplicate', bias = %g }", bonus);
    print_text(favoured, sizeof favoured, "require 'favours' { bonus = %.17g }",
               log(1 + exp(bonus)));
    heading("6. Identities: the largest difference of logits, float64");
    equal(
        "haares with bias -1000, attnres of the same blocks",
        difference(folder, "haares { block_size = 3, bias = -1000 }", "attnres { block_size = 3 }"),
        0, 12, "");
    equal("haares with details duplicated, attnres with ln(1 + e^b) for blocks",
          difference(folder, duplicate, favoured), 0, 12, "b = -0.7");
    if (difference(folder, duplicate, "attnres { block_size = 3 }") < 1e-3)
        fail_msg("the bias makes no difference");
}

void published_haares(void **folder) {
    source_counts(folder);
    parameter_counts(folder);
    recipe();
    extra_work(folder);
    identities(folder);
}
