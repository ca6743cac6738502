/* SPDX-License-Identifier: MIT
** Layers of random specs: those of the library, with every option. */
#include "fuzz_words.h"

static void rope(Spec *s) {
    fprintf(s->f, ", rope = { theta = %d, style = \"%s\"", coin(s) ? 10000 : 500,
            coin(s) ? "half" : "interleaved");
    if (!below(s, 4)) fprintf(s->f, ", dims = 2");
    if (!below(s, 4)) fprintf(s->f, ", direction = \"backward\"");
    int way = below(s, 9), factor = 1 + below(s, 8), original = 4 + below(s, 16);
    if (way == 0) fprintf(s->f, ", linear = 2.5");
    if (way == 1)
        fprintf(s->f, ", llama3 = { factor = %d, original = %d, low = 1, high = 4 }", factor,
                original);
    if (way == 2 || way == 3)
        fprintf(s->f, ", yarn = { factor = %d, original = %d%s }", factor, original,
                way == 2 ? ", truncate = false, attention_factor = 0.9" : "");
    if (way == 8)
        fprintf(s->f, ", dims = 2, longrope = { short = { 1.5 }, long = { 3 }, original = %d }",
                original);
    fprintf(s->f, " }");
}

/* Norms around a sublayer, and what training leaves out. */
static void around(Spec *s) {
    static const char *const norms[] = { "before = false, after = true", "after = true",
                                         "after = layernorm { eps = 1e-3 }",
                                         "before = rmsnorm { eps = 1e-2 }",
                                         "after = rmsnorm { gain = \"before\" }" };
    if (!below(s, 4)) fprintf(s->f, ", norm = { %s }", norms[below(s, 5)]);
    if (!below(s, 8)) fprintf(s->f, ", dropout = 0.2");
    if (!below(s, 8)) fprintf(s->f, ", multiplier = 0.6");
}

/* A gate of what heads give. */
static void gate(Spec *s) {
    if (!below(s, 4)) fprintf(s->f, ", gate = {%s}", coin(s) ? " bias = true " : "");
}

/* What shapes scores; windows and sinks where no route chooses the keys. */
static void shaping(Spec *s, bool causal) {
    if (causal && !below(s, 3)) fprintf(s->f, ", window = %d", 1 + below(s, 12));
    if (!below(s, 4)) fprintf(s->f, ", sinks = true");
    if (!below(s, 4)) fprintf(s->f, ", softcap = %d.5", below(s, 3));
    if (!below(s, 6)) fprintf(s->f, ", scale = 0.3");
}

/* Heads, their sizes and norms; values that layers share have one size. */
static void attention_heads(Spec *s) {
    static const char *const norms[] = { "true", "{ over = \"all\", gain = false }",
                                         "{ after_rope = true }" };
    int kv = 1 + below(s, 2), heads = kv * (1 + below(s, 3)), own = 2 * (1 + below(s, 9));
    bool first = !below(s, 8);
    if (first) heads = kv = 2, own = 6;
    fprintf(s->f, "attention { heads = %d", heads);
    if (kv < heads) fprintf(s->f, ", kv_heads = %d", kv);
    if (first || s->dim % heads || s->dim / heads % 2 || coin(s))
        fprintf(s->f, ", head_dim = %d", own);
    if (first) fprintf(s->f, ", value_residual = true");
    if (coin(s)) fprintf(s->f, ", bias = %s", coin(s) ? "true" : "{ \"q\", \"v\" }");
    if (coin(s)) fprintf(s->f, ", qk_norm = %s", norms[below(s, 3)]);
    s->unrouted |= first;
}

static void attention(Spec *s, const char *name) {
    attention_heads(s);
    bool causal = !s->acausal && below(s, 6);
    if (!causal) fprintf(s->f, ", causal = false");
    s->causal |= causal;
    if (below(s, 3)) rope(s);
    bool shaped = coin(s);
    s->shaped |= shaped;
    if (shaped) shaping(s, causal);
    gate(s);
    if (!below(s, 6)) fprintf(s->f, ", out_norm = %s", coin(s) ? "true" : "{ gain = false }");
    if (!below(s, 8)) fprintf(s->f, ", growth = { from = %d, power = 0.5 }", 2 + below(s, 9));
    around(s);
    if (!below(s, 6)) {
        s->unrouted = true;
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
    if (kind == 1 && coin(s)) fprintf(s->f, ", gate = %s", coin(s) ? "false" : "\"sigmoid\"");
    if (kind == 2 && coin(s)) fprintf(s->f, ", gate = true");
    if (kind == 2 && coin(s)) fprintf(s->f, ", rank = %d", 1 + below(s, 6));
    if (kind == 2 && !below(s, 3)) fprintf(s->f, ", positive = true");
    if (!kind && !below(s, 3)) fprintf(s->f, ", floor = -4");
    if (kind != 2 && coin(s)) fprintf(s->f, ", conv = %d", below(s, 4));
    if (!kind && coin(s)) fprintf(s->f, ", gate_rank = %d", 1 + below(s, 6));
    around(s);
    if (name) fprintf(s->f, ", name = \"%s\"", name);
    fprintf(s->f, " }, ");
}

/* Causal always. */
static void mla(Spec *s) {
    int turned = below(s, 4) ? 2 * (1 + below(s, 6)) : 0;
    fprintf(s->f, "mla { heads = %d, nope_dim = %d, rope_dim = %d, value_dim = %d, latent = %d",
            1 + below(s, 5), 1 + below(s, 20), turned, 1 + below(s, 20), 1 + below(s, 40));
    if (coin(s)) fprintf(s->f, ", q_latent = %d", 1 + below(s, 20));
    if (!below(s, 3)) fprintf(s->f, ", window = %d", 1 + below(s, 12));
    if (turned && coin(s)) rope(s);
    if (!below(s, 3)) fprintf(s->f, ", sinks = true");
    if (!below(s, 3)) fprintf(s->f, ", bias = true");
    if (!below(s, 6)) fprintf(s->f, ", eps = 1e-3, scale = 0.4");
    gate(s);
    around(s);
    fprintf(s->f, " }, ");
    s->causal = s->shaped = true;
}

/* Biases by distance that a token chooses, convolutions, three reads where there is no window. */
static void relative(Spec *s) {
    int kv = 1 + below(s, 2);
    fprintf(s->f, "relative_attention { heads = %d, kv_heads = %d, head_dim = %d, extent = %d",
            kv * (1 + below(s, 2)), kv, 1 + below(s, 12), 1 + below(s, 20));
    if (coin(s)) fprintf(s->f, ", window = %d", 1 + below(s, 12));
    fprintf(s->f, ", relative_dim = %d, conv = %d, floor = %d", 1 + below(s, 4), 1 + below(s, 4),
            1 + below(s, 20));
    if (coin(s)) fprintf(s->f, ", clip = 1.5, relative_clip = 0.7");
    fprintf(s->f, " }, ");
    s->causal = s->unrouted = true;
}

/* Convolutions over time and across heads' channels, values of two tokens. */
static void convolved(Spec *s) {
    int kv = 1 + below(s, 3);
    fprintf(s->f, "conv_attention { heads = %d, kv_heads = %d, head_dim = %d",
            kv * (1 + below(s, 2)), kv, 2 * (1 + below(s, 7)));
    fprintf(s->f, ", channel_taps = %d, head_taps = %d, bias = %s", 1 + below(s, 4),
            1 + below(s, 4), truth(coin(s)));
    if (coin(s)) fprintf(s->f, ", window = %d", 1 + below(s, 12));
    if (coin(s)) rope(s);
    fprintf(s->f, " }, ");
    s->causal = s->unrouted = true;
}

/* One head that is key and value, and keys made of several tokens. */
static void shared(Spec *s) {
    int groups = 1 + below(s, 2), d = 2 * (1 + below(s, 7));
    fprintf(s->f, "shared_attention { heads = %d, head_dim = %d, q_latent = %d, out_groups = %d",
            groups * (1 + below(s, 2)), d, 1 + below(s, 9), groups);
    fprintf(s->f, ", out_rank = %d", 1 + below(s, 9));
    if (coin(s)) fprintf(s->f, ", window = %d", 1 + below(s, 12));
    if (coin(s)) rope(s);
    if (below(s, 3))
        fprintf(s->f, ", compress = { rate = %d, overlap = %s }", 2 + below(s, 5), truth(coin(s)));
    fprintf(s->f, " }, ");
    s->causal = s->unrouted = true;
}

/* What there is of each follows from the hidden size. */
static void moe(Spec *s, int hidden) {
    static const char *const more[] = { "",
                                        ", shared_hidden = 7, shared_gate = true",
                                        ", limit = 0.4, shared_limit = 0.3",
                                        ", gate_cap = 0.8, up_cap = 0.6",
                                        ", out_conv = 3",
                                        ", balance_bias = false",
                                        ", latent = 6, expert_norm = { eps = 1e-4 }",
                                        ", router = { hidden = 5 }, router_scale = 0.7",
                                        ", by_token = true",
                                        ", activation = \"geglu\"",
                                        ", balance = 0" };
    enum { OUT_CONV = 4 };
    int groups = 1 + hidden % 3, size = 1 + hidden % 4, kept = 1 + hidden % groups;
    int most = kept * size, top = 1 + hidden % (most < 4 ? most : 4);
    fprintf(s->f, "moe { experts = %d, top = %d, hidden = %d, groups = %d, top_groups = %d",
            groups * size, top, hidden, groups, kept);
    fprintf(s->f, ", shared = %d, score = \"%s\"", hidden % 2,
            hidden % 5 < 2        ? "softmax"
                : hidden % 5 == 2 ? "sqrt_softplus"
                                  : "sigmoid");
    int which = below(s, 11);
    s->shaped |= which == OUT_CONV;
    fprintf(s->f, ", normalize = %s, scale = %d%s }, ", truth(hidden % 7 > 2), 1 + hidden % 3,
            more[which]);
}

static void mlp(Spec *s) {
    static const char *const activations[] = { "swiglu", "geglu", "reglu",     "geglu_tanh", "gelu",
                                               "relu",   "silu",  "gelu_tanh", "relu2" };
    enum { GATED = 4, ACTIVATIONS = 9 };
    int hidden = 1 + below(s, 100);
    if (hidden % 4 == 1) {
        moe(s, hidden);
        return;
    }
    int which = below(s, ACTIVATIONS);
    fprintf(s->f, "mlp { hidden = %d, activation = \"%s\"", hidden, activations[which]);
    if (which < GATED && !below(s, 4)) fprintf(s->f, ", limit = 0.3");
    around(s);
    fprintf(s->f, ", bias = %s }, ", truth(coin(s)));
}

/* Routes of layers go with mixers of one stream; those of attention with what is causal. */
static void route(Spec *s, bool attends) {
    static const char *const whole[] = {
        "mod { capacity = 0.3 }", "mod { capacity = 0.8, gate = \"sigmoid\" }",
        "dllm { hidden = 5 }", "dllm { hidden = 9, reserve = 1, target = 0.4, weight = 0.3 }"
    };
    static const char *const part[] = { "dtr {}", "dtr { bias = false, bypass = \"none\" }",
                                        "dtr { choice = \"expert\", capacity = 0.4 }",
                                        "dtr { choice = \"skip\" }" };
    bool one = s->mixer <= HIGHWAY || (s->mixer > DRR && s->mixer < OWN_MIXER);
    int which = below(s, 4);
    if (s->acausal || s->unrouted || s->mixer == DRR || coin(s)) return;
    if (attends && (!one || !below(s, 3))) fprintf(s->f, "route = %s ", part[which]);
    else if (one && !below(s, 3))
        fprintf(s->f, "route = stochastic_depth { keep = 0.%d } ", 2 + below(s, 8));
    else if (one) {
        if (which > 1 && s->shaped) which -= 2;    /* dllm chooses the keys */
        if (which > 1) which = 2 + s->context % 2; /* a model's dllms have one target, or none */
        fprintf(s->f, "route = %s ", whole[which]);
    }
}

/* Layers that share weights come twice; three in eight are not attention and mlp. */
void fuzz_layer(Spec *s) {
    int kind = below(s, 8), times = below(s, 8) ? 1 : 2;
    s->unrouted = s->shaped = false;
    fprintf(s->f, times > 1 ? "    times(2, layer { " : "    layer { ");
    if (times > 1) fprintf(s->f, "share = \"part%d\", ", s->names++);
    if (!below(s, 6)) fprintf(s->f, "parallel = true, ");
    bool causal = !s->acausal && kind != 7 && kind != 4, latent = causal && !below(s, 5),
         biased = causal && !latent && !below(s, 9);
    if (latent) mla(s);
    else if (biased) {
        static void (*const kinds[])(Spec *) = { relative, convolved, shared };
        kinds[below(s, 3)](s);
    } else if (kind == 4) recurrent(s, NULL);
    else if (kind != 7) attention(s, NULL);
    if (kind == 5) (coin(s) ? attention : recurrent)(s, "second");
    if (kind != 6) mlp(s);
    bool more = !below(s, 3);
    if (more) fuzz_own(s, "own");
    route(s, kind != 7 && kind != 5 && kind != 4 && !latent);
    s->sublayers += times * ((kind != 7) + (kind == 5) + (kind != 6) + more);
    fprintf(s->f, times > 1 ? "}),\n" : "},\n");
}
