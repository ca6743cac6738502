/* SPDX-License-Identifier: MIT
** See fuzz_spec.h. */
#include "fuzz_spec.h"

#include <stdio.h>
#include <stdlib.h>

#include "numeric.h"

typedef struct Spec {
    FILE *f;
    Random random;
    int dim, layers, sublayers, context, mixer;
    bool acausal, causal; /* attention: none is to be causal, some is */
    bool several;         /* a sublayer of the layer at work has several reads */
    bool shaped;          /* what is in the layer may not heed keys that a route chooses */
} Spec;

static int below(Spec *s, int count) { return draw_below(&s->random, count); }
static bool coin(Spec *s) { return below(s, 2); }
static const char *truth(bool yes) { return yes ? "true" : "false"; }

/* == Mixers =============================================================== */

static void blocks(Spec *s, bool full) {
    int way = below(s, full ? 3 : 2);
    if (way == 0) fprintf(s->f, "blocks = %d", 1 + below(s, s->sublayers));
    if (way == 1) fprintf(s->f, "block_size = %d", 1 + below(s, s->sublayers + 1));
    if (way == 2) fprintf(s->f, "full = true");
}

/* Options that AttnRes and HAARES share. */
static void reads(Spec *s) {
    static const char *const kernels[] = { "softmax", "softmax", "softmax", "sigmoid", "linear" };
    static const char *const queries[] = { "learned", "learned", "input", "static" };
    const char *kernel = kernels[below(s, 5)], *query = queries[below(s, 4)];
    bool linear = kernel[0] == 'l';
    if (linear && query[0] == 's') query = "input";
    fprintf(s->f, ", kernel = \"%s\", query = \"%s\"", kernel, query);
    if (linear) fprintf(s->f, ", rank = %d", 1 + below(s, 9));
    else if (s->dim % 4 == 0) fprintf(s->f, ", heads = %d", 1 << below(s, 3));
    if (coin(s)) fprintf(s->f, ", key_norm = %s", truth(coin(s)));
    if (coin(s)) fprintf(s->f, ", key_gain = %s", truth(coin(s)));
}

static void haares(Spec *s) {
    static const char *const details[] = { "half", "half", "duplicate" };
    blocks(s, false);
    fprintf(s->f, ", detail = \"%s\"", details[below(s, 3)]);
    if (coin(s)) fprintf(s->f, ", rms_match = %s", truth(coin(s)));
    if (!below(s, 3)) fprintf(s->f, ", bias = %g", -2 + below(s, 30) / 10.0);
    if (!below(s, 3)) fprintf(s->f, ", gamma = %g", 1.5 + below(s, 4));
    if (coin(s)) reads(s);
}

static void attnres(Spec *s) {
    blocks(s, true);
    if (coin(s)) reads(s);
    if (!below(s, 3)) fprintf(s->f, ", window = %d", 1 + below(s, 4));
}

static void streams(Spec *s, int which) {
    fprintf(s->f, "streams = %d", 1 + below(s, 4));
    if (which == 7 && !below(s, 3)) fprintf(s->f, ", dynamic = false");
    if (which == 8 && coin(s)) fprintf(s->f, ", iterations = %d", 1 + below(s, 4));
    if (which == 8 && !below(s, 3)) fprintf(s->f, ", lite = true");
    if (which == 9) fprintf(s->f, ", rank = %d", 1 + below(s, 20));
}

/* What sees later tokens goes with attention that does. */
static void drr(Spec *s) {
    int heads = 1 + below(s, 4);
    while (s->dim % heads)
        heads--;
    fprintf(s->f, "heads = %d, window = %d, block_layers = %d, hidden_mult = %d", heads,
            1 + below(s, 3), 1 + below(s, 3), 1 + below(s, 2));
    if (coin(s)) fprintf(s->f, ", query = \"learned\"");
    if (s->causal || coin(s)) fprintf(s->f, ", causal = true, chunk = %d", 1 + below(s, 8));
    else fprintf(s->f, ", summary_tokens = %d", 1 + below(s, 12));
}

enum { STANDARD, REZERO, LAYERSCALE, DRR = 10 };

static void choose_mixer(Spec *s) {
    static const int turn[] = { 0, 1, 2, 3, 3, 4, 4, 5,   5,   5,  5,  6, 6,
                                6, 6, 7, 7, 8, 8, 9, DRR, DRR, 11, 12, 13 };
    s->mixer = turn[below(s, sizeof turn / sizeof *turn)];
}

static void mixer(Spec *s) {
    static const char *const names[] = {
        "standard",     "rezero",          "layerscale", "highway",
        "denseformer",  "attnres",         "haares",     "hyper",
        "mhc",          "gated_residual",  "drr",        "residual_gate",
        "depth_scaled", "residual_scaling"
    };
    int which = s->mixer;
    fprintf(s->f, "  residual = %s { ", names[which]);
    if (which == 2 && coin(s)) fprintf(s->f, "init = %g", 0.5);
    if (which == 3) fprintf(s->f, "gate = \"%s\"", coin(s) ? "vector" : "scalar");
    if (which == 4) fprintf(s->f, "dilation = %d, period = %d", 1 + below(s, 3), 1 + below(s, 3));
    if (which == 5) attnres(s);
    if (which == 6) haares(s);
    if (which > 6 && which < 10) streams(s, which);
    if (which == 10) drr(s);
    if (which == 11 && coin(s)) fprintf(s->f, "temperature = 0.7, eps = 0.4");
    fprintf(s->f, " },\n");
}

/* == Layers =============================================================== */

static void rope(Spec *s) {
    fprintf(s->f, ", rope = { theta = %d, style = \"%s\"", coin(s) ? 10000 : 500,
            coin(s) ? "half" : "interleaved");
    if (!below(s, 4)) fprintf(s->f, ", dims = 2");
    if (!below(s, 3))
        fprintf(s->f, ", yarn = { factor = %d, original = %d }", 1 + below(s, 8), 4 + below(s, 16));
    fprintf(s->f, " }");
}

/* Norms around a sublayer, and what training leaves out. */
static void around(Spec *s) {
    static const char *const norms[] = { "before = false, after = true", "after = true",
                                         "after = layernorm { eps = 1e-3 }",
                                         "before = rmsnorm { eps = 1e-2 }" };
    if (!below(s, 4)) fprintf(s->f, ", norm = { %s }", norms[below(s, 4)]);
    if (!below(s, 8)) fprintf(s->f, ", dropout = 0.2");
}

/* What shapes scores; windows and sinks where no route chooses the keys. */
static void shaping(Spec *s, bool causal) {
    if (causal && !below(s, 3)) fprintf(s->f, ", window = %d", 1 + below(s, 12));
    if (!below(s, 4)) fprintf(s->f, ", sinks = true");
    if (!below(s, 4)) fprintf(s->f, ", softcap = %d.5", below(s, 3));
    if (!below(s, 6)) fprintf(s->f, ", scale = 0.3");
}

static void attention(Spec *s, const char *name) {
    int kv = 1 + below(s, 2), heads = kv * (1 + below(s, 3)), own = 2 * (1 + below(s, 9));
    fprintf(s->f, "attention { heads = %d", heads);
    if (kv < heads) fprintf(s->f, ", kv_heads = %d", kv);
    if (s->dim % heads || s->dim / heads % 2 || coin(s)) fprintf(s->f, ", head_dim = %d", own);
    if (coin(s)) fprintf(s->f, ", bias = true");
    if (coin(s)) fprintf(s->f, ", qk_norm = true");
    bool causal = !s->acausal && below(s, 6);
    if (!causal) fprintf(s->f, ", causal = false");
    s->causal |= causal;
    if (below(s, 3)) rope(s);
    bool shaped = coin(s);
    s->shaped |= shaped;
    if (shaped) shaping(s, causal);
    around(s);
    if (!below(s, 6)) {
        s->several = true;
        fprintf(s->f, ", reads = \"each\"");
    }
    if (name) fprintf(s->f, ", name = \"%s\"", name);
    fprintf(s->f, " }, ");
}

/* What has a state of fixed size in the place of attention. */
static void recurrent(Spec *s, const char *name) {
    static const char *const kinds[] = { "kda", "gated_delta", "linear_attention" };
    static const char *const decays[] = { "none", "fixed", "head", "channel" };
    int kind = below(s, 3), heads = 1 + below(s, 3), more = 1 + below(s, 2);
    s->shaped = true;
    fprintf(s->f, "%s { heads = %d, head_dim = %d", kinds[kind], kind == 2 ? heads * more : heads,
            1 + below(s, 20));
    if (kind == 1) fprintf(s->f, ", value_heads = %d", heads * more);
    if (kind == 2) fprintf(s->f, ", kv_heads = %d, decay = \"%s\"", heads, decays[below(s, 4)]);
    if (kind && coin(s)) fprintf(s->f, ", value_dim = %d", 1 + below(s, 20));
    if (kind && coin(s)) fprintf(s->f, ", gate = %s", truth(kind == 2));
    if (kind != 2 && coin(s)) fprintf(s->f, ", conv = %d", below(s, 4));
    if (!kind && coin(s)) fprintf(s->f, ", gate_rank = %d", 1 + below(s, 6));
    if (name) fprintf(s->f, ", name = \"%s\"", name);
    fprintf(s->f, " }, ");
}

/* Causal always. */
static void mla(Spec *s) {
    fprintf(s->f, "mla { heads = %d, nope_dim = %d, rope_dim = %d, value_dim = %d, latent = %d",
            1 + below(s, 5), 1 + below(s, 20), 2 * (1 + below(s, 6)), 1 + below(s, 20),
            1 + below(s, 40));
    if (coin(s)) fprintf(s->f, ", q_latent = %d", 1 + below(s, 20));
    if (!below(s, 3)) fprintf(s->f, ", window = %d", 1 + below(s, 12));
    if (coin(s)) rope(s);
    fprintf(s->f, " }, ");
    s->causal = s->shaped = true;
}

/* What there is of each follows from the hidden size. */
static void moe(Spec *s, int hidden) {
    int groups = 1 + hidden % 3, size = 1 + hidden % 4, kept = 1 + hidden % groups;
    int most = kept * size, top = 1 + hidden % (most < 4 ? most : 4);
    fprintf(s->f, "moe { experts = %d, top = %d, hidden = %d, groups = %d, top_groups = %d",
            groups * size, top, hidden, groups, kept);
    fprintf(s->f, ", shared = %d, score = \"%s\"", hidden % 2,
            hidden % 5 < 2 ? "softmax" : "sigmoid");
    fprintf(s->f, ", normalize = %s, scale = %d }, ", truth(hidden % 7 > 2), 1 + hidden % 3);
}

static void mlp(Spec *s) {
    static const char *const activations[] = { "swiglu", "gelu",      "relu",
                                               "silu",   "gelu_tanh", "relu2" };
    int hidden = 1 + below(s, 100);
    if (hidden % 4 == 1) {
        moe(s, hidden);
        return;
    }
    fprintf(s->f, "mlp { hidden = %d, activation = \"%s\"", hidden, activations[below(s, 6)]);
    around(s);
    fprintf(s->f, ", bias = %s }, ", truth(coin(s)));
}

/* Routes of layers go with one stream; that of attention with any but what is not causal. */
static void route(Spec *s, bool attends) {
    static const char *const whole[] = {
        "mod { capacity = 0.3 }", "mod { capacity = 0.8, gate = \"sigmoid\" }",
        "dllm { hidden = 5 }", "dllm { hidden = 9, reserve = 1, target = 0.4, weight = 0.3 }"
    };
    static const char *const part[] = { "dtr {}", "dtr { bias = false, bypass = \"none\" }",
                                        "dtr { choice = \"expert\", capacity = 0.4 }",
                                        "dtr { choice = \"skip\" }" };
    int which = below(s, 4);
    if (s->acausal || s->several || s->mixer == DRR || below(s, 3)) return;
    if (attends && coin(s)) {
        fprintf(s->f, "route = %s ", part[which]);
        return;
    }
    if (which > 1 && s->shaped) which -= 2;    /* dllm chooses the keys */
    if (which > 1) which = 2 + s->context % 2; /* a model's dllms have one target, or none */
    if (s->mixer <= LAYERSCALE) fprintf(s->f, "route = %s ", whole[which]);
}

/* A sublayer of its own: a convolution, with a gate or a shift. */
static void past(Spec *s) {
    s->shaped = true;
    int n = 1 + below(s, 6), groups = 1 + below(s, 4);
    while (s->dim % groups)
        groups--;
    if (coin(s)) groups = s->dim;
    fprintf(s->f, "sublayer { forward = function(m, site, x)\n      local y = conv(");
    fprintf(s->f, coin(s) ? "x" : "m:linear(site, \"y\", x, m.dim)");
    if (coin(s)) fprintf(s->f, ", m:param(site, \"taps\", { %d, %d }, normal(0.3)))\n", groups, n);
    else
        fprintf(s->f, ", reshape(m:linear(site, \"taps\", x, %d), { %d, %d }))\n", groups * n,
                groups, n);
    if (coin(s)) fprintf(s->f, "      y = y * sigmoid(shift(x, %d))\n", 1 + below(s, 50));
    fprintf(s->f, "      return m:linear(site, \"o\", y, m.dim) end } { name = \"past\" }, ");
}

/* Three layers in eight are not attention and mlp. */
static void layer(Spec *s) {
    int kind = below(s, 8);
    s->several = false;
    s->shaped = false;
    fprintf(s->f, "    layer { ");
    if (!below(s, 6)) fprintf(s->f, "parallel = true, ");
    bool latent = !s->acausal && kind != 7 && kind != 4 && !below(s, 6);
    if (latent) mla(s);
    else if (kind == 4) recurrent(s, NULL);
    else if (kind != 7) attention(s, NULL);
    if (kind == 5) (coin(s) ? attention : recurrent)(s, "second");
    if (kind != 6) mlp(s);
    bool more = !below(s, 4);
    if (more) past(s);
    route(s, kind != 7 && kind != 5 && kind != 4 && !latent);
    s->sublayers += (kind != 7) + (kind == 5) + (kind != 6) + more;
    fprintf(s->f, "},\n");
}

/* == Specs ================================================================ */

static void model(Spec *s) {
    bool tied = coin(s), positions = !below(s, 3);
    choose_mixer(s);
    fprintf(s->f, "  embedding = { tied = %s%s%s },\n", truth(tied),
            positions ? ", positions = \"learned\"" : "", below(s, 4) ? "" : ", scale = 2.5");
    if (!below(s, 4)) fprintf(s->f, "  logits = { scale = 0.7, softcap = %d },\n", 1 + below(s, 9));
    if (!below(s, 6)) fprintf(s->f, "  final_norm = false,\n");
    fprintf(s->f, "  norm = %s { eps = %s },\n  layers = {\n", coin(s) ? "rmsnorm" : "layernorm",
            coin(s) ? "1e-6" : "1e-3");
    for (int i = 0; i < s->layers; i++)
        layer(s);
    fprintf(s->f, "  },\n");
    mixer(s);
}

char *fuzz_spec(uint64_t seed) {
    static const int dims[] = { 4, 10, 16, 24, 33, 64 };
    char *text = NULL;
    size_t size;
    Spec s = { .f = open_memstream(&text, &size), .random = { seed * 104729 } };
    if (!s.f) abort();
    s.dim = below(&s, 3) ? dims[below(&s, 6)] : 1 + below(&s, 100);
    s.layers = 1 + below(&s, 4);
    s.context = 2 + below(&s, 40);
    s.acausal = !below(&s, 4);
    fprintf(s.f, "return model {\n  name = \"seed_%llu\", vocab = %d, context = %d, dim = %d,\n",
            (unsigned long long)seed, 2 + below(&s, 40), s.context, s.dim);
    model(&s);
    fprintf(s.f, "}\n");
    if (fclose(s.f)) abort();
    return text;
}
