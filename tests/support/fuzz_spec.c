/* SPDX-License-Identifier: MIT
** See fuzz_spec.h. */
#include "fuzz_spec.h"

#include <stdio.h>
#include <stdlib.h>

#include "fuzz_words.h"

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
    if (!linear && !below(s, 4)) fprintf(s->f, ", scale = 0.4");
    if (!linear && !below(s, 4)) fprintf(s->f, ", value_norm = true");
    if (!below(s, 4)) fprintf(s->f, ", eps = 1e-3");
    if (coin(s)) fprintf(s->f, ", key_norm = %s", truth(coin(s)));
    if (coin(s)) fprintf(s->f, ", key_gain = %s", truth(coin(s)));
}

static void haares(Spec *s) {
    static const char *const details[] = { "half", "half", "duplicate" };
    if (!below(s, 4)) {
        int size = 1 + below(s, 3);
        fprintf(s->f, "block_size = %d, detail = \"random\", signs = {", size);
        for (int i = 0; i < size; i++)
            fprintf(s->f, " %s1,", coin(s) ? "-" : "");
        fprintf(s->f, " }");
    } else {
        blocks(s, false);
        fprintf(s->f, ", detail = \"%s\"", details[below(s, 3)]);
    }
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
    int form = which == 7 || which == 8 ? below(s, 6) : 0;
    if (which == 7 && form == 1) fprintf(s->f, ", dynamic = false");
    if (which == 7 && form == 2) fprintf(s->f, ", mix = false, magnitude = 1.5");
    if (which == 8 && coin(s)) fprintf(s->f, ", iterations = %d", 1 + below(s, 4));
    if (which == 8 && form == 1) fprintf(s->f, ", lite = true");
    if (which == 8 && form == 2) fprintf(s->f, ", start = \"softmax\"");
    if (which == 8 && !below(s, 3)) fprintf(s->f, ", head = \"learned\"");
    if (form && !below(s, 3)) fprintf(s->f, ", eps = 1e-3");
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

static void choose_mixer(Spec *s) {
    static const int turn[] = { 0, 1, 2, 3, 3, 4, 4,   5,   5,  5,  5,  6,         6,        6,
                                6, 7, 7, 8, 8, 9, DRR, DRR, 11, 12, 13, OWN_MIXER, OWN_MIXER };
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
    if (which == OWN_MIXER) {
        fuzz_own_mixer(s);
        return;
    }
    fprintf(s->f, "  residual = %s { ", names[which]);
    if (which == 2 && coin(s)) fprintf(s->f, "init = %g", 0.5);
    if (which == 3) fprintf(s->f, "gate = \"%s\"", coin(s) ? "vector" : "scalar");
    if (which == 4) fprintf(s->f, "dilation = %d, period = %d", 1 + below(s, 3), 1 + below(s, 3));
    if (which == 13 && coin(s)) fprintf(s->f, "embedding = true");
    if (which == 5) attnres(s);
    if (which == 6) haares(s);
    if (which > 6 && which < 10) streams(s, which);
    if (which == 10) drr(s);
    if (which == 11 && coin(s)) fprintf(s->f, "temperature = 0.7, eps = 0.4");
    fprintf(s->f, " },\n");
}

/* == Specs ================================================================ */

static void model(Spec *s) {
    bool tied = coin(s), positions = !below(s, 3);
    choose_mixer(s);
    fprintf(s->f, "  embedding = { tied = %s%s%s%s },\n", truth(tied),
            positions ? ", positions = \"learned\"" : "", below(s, 4) ? "" : ", scale = 2.5",
            below(s, 6) ? "" : ", norm = true");
    if (!below(s, 4)) fprintf(s->f, "  logits = { scale = 0.7, softcap = %d },\n", 1 + below(s, 9));
    if (!below(s, 6)) fprintf(s->f, "  final_norm = false,\n");
    fprintf(s->f, "  norm = %s { eps = %s },\n  layers = {\n", coin(s) ? "rmsnorm" : "layernorm",
            coin(s) ? "1e-6" : "1e-3");
    for (int i = 0; i < s->layers; i++)
        fuzz_layer(s);
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
