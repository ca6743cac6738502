/* SPDX-License-Identifier: MIT
** Sublayers and mixers that a spec defines itself, of what the library's do not use alike. */
#include "fuzz_words.h"

#define say(s, ...) fprintf((s)->f, __VA_ARGS__)

/* A convolution, with a gate or a shift. */
static void past(Spec *s) {
    int n = 1 + below(s, 6), groups = 1 + below(s, 4);
    while (s->dim % groups)
        groups--;
    if (coin(s)) groups = s->dim;
    say(s, "      local y = conv(");
    say(s, coin(s) ? "x" : "m:linear(site, \"y\", x, m.dim)");
    if (coin(s)) say(s, ", m:param(site, \"taps\", { %d, %d }, normal(0.3)))\n", groups, n);
    else say(s, ", reshape(m:linear(site, \"taps\", x, %d), { %d, %d }))\n", groups * n, groups, n);
    if (coin(s)) say(s, "      y = y * sigmoid(shift(x, %d))\n", 1 + below(s, 50));
}

/* A recurrence: decays by channel, by head or none, a delta rule or not. */
static void state_of_heads(Spec *s) {
    int G = 1 + below(s, 2), H = G * (1 + below(s, 2)), d = 1 + below(s, 8), e = 1 + below(s, 8);
    int decay = below(s, 3);
    bool delta = coin(s);
    say(s, "      local function f(name, ...)\n        local n = 1\n");
    say(s, "        for _, d in ipairs { ... } do n = n * d end\n");
    say(s, "        return reshape(m:linear(site, name, x, n), { ... })\n      end\n");
    say(s, "      local k = f(\"k\", %d, %d)\n", G, d);
    say(s, "      k = k * reshape(rsqrt(sum(k * k, 2) + 1), { %d, 1 })\n", G);
    say(s, "      local y = recurrence(f(\"q\", %d, %d), k, f(\"v\", %d, %d), {", G, d, H, e);
    if (decay == 1) say(s, " decay = -softplus(f(\"decay\", %d)),", H);
    if (decay == 2) say(s, " decay = -softplus(f(\"decay\", %d, %d)),", H, d);
    if (delta) say(s, " delta = sigmoid(f(\"beta\", %d)),", H);
    say(s, " })\n      y = reshape(y, { %d })\n", H * e);
}

/* Attention of a kind that no layer has: values that are channels of keys, distances, a cap. */
static void scores(Spec *s) {
    int H = 1 + below(s, 3), d = 2 + below(s, 8), n = 1 + below(s, 20);
    say(s, "      local q = reshape(m:linear(site, \"q\", x, %d), { %d, %d })\n", H * d, H, d);
    say(s, "      local k = reshape(m:linear(site, \"k\", x, %d), { 1, %d })\n", d, d);
    say(s, "      local how = { causal = true, scale = 0.5");
    if (coin(s)) say(s, ", window = %d", 1 + below(s, 12));
    if (coin(s)) say(s, ", softcap = 1.5");
    if (coin(s))
        say(s, ", by_distance = reshape(m:linear(site, \"near\", x, %d), { %d, %d })", H * n, H, n);
    say(s, " }\n      local v = %d\n", 1 + below(s, d));
    say(s, "      local y = reshape(attention(q, k, v, how), { %d * v })\n", H);
    if (coin(s))
        say(s, "      y = y * reshape(sigmoid(peak(attention_lse(q, k, v, how), 1)), { 1 })\n");
}

/* What positions, a buffer with a rule, and what earlier sublayers left say. */
static void pointwise(Spec *s) {
    say(s, "      local y = m:norm(site.prefix .. \".inner\", x)\n");
    if (coin(s))
        say(s, "      y = y + m:linear(site, \"p\", wave({ 1, 0.2 }, { of = x }), m.dim)\n");
    if (coin(s)) {
        say(s, "      local level = m:buffer(site, \"level\", { m.dim }, 0.5)\n");
        say(s, "      m:rule(level, token_sum(y * y), function(old, sum)\n");
        say(s, "        return 0.9 * old + 0.1 * tanh(sum) end)\n      y = y * (1 + level)\n");
        s->unrouted = true;
    }
    if (coin(s)) say(s, "      y = softcap(gelu_tanh(y), 2) + relu2(tanh(y))\n");
    if (coin(s)) {
        say(s, "      for _, z in ipairs(m:kept(\"z\")) do y = y + 0.3 * z end\n");
        say(s, "      m:keep(\"z\", y)\n");
        s->unrouted = s->kept = true;
    }
}

/* What forward returns: losses go with no route. */
static void give(Spec *s) {
    int loss = below(s, 5);
    say(s, "      return m:linear(site, \"o\", y, m.dim)");
    if (loss == 0) say(s, ", 0.1 * mean(y * y, 1)");
    if (loss == 1) say(s, ", 0.1 * m:nll(m:norm(site.prefix .. \".exit\", x))");
    if (loss < 2) s->unrouted = true;
    say(s, "\n    end }");
}

void fuzz_own(Spec *s, const char *name) {
    static void (*const kinds[])(Spec *) = { past, past, state_of_heads, scores, pointwise };
    bool reads = !below(s, 4);
    int kind = below(s, 5);
    if (s->acausal && kind == 3) kind = 4;
    if (kind == 3) s->causal = true;
    s->shaped |= kind < 4; /* all but what is pointwise looks at other tokens */
    say(s, "sublayer { ");
    if (reads) say(s, "reads = { \"a\", \"b\", \"c\" }, ");
    say(s, "forward = function(m, site, x)\n");
    if (reads) say(s, "      local all = x\n      x = all.a + tanh(all.b) * all.c\n");
    s->unrouted |= reads;
    kinds[kind](s);
    give(s);
    say(s, " { name = \"%s\"%s }, ", name,
        below(s, 4) ? "" : ", norm = { after = true }, multiplier = 0.8");
}

/* A stream that decays, with norms at some sites and a loss of its own. */
void fuzz_own_mixer(Spec *s) {
    say(s, "  residual = mixer {\n");
    int norms = below(s, 3);
    if (norms == 1) say(s, "    prenorm = false,\n");
    if (norms == 2) say(s, "    prenorm = function(m, site) return site.index %% 2 == 0 end,\n");
    say(s, "    open = function(m, e) return { h = e, first = e } end,\n");
    say(s, "    read = function(m, state, site)\n      return state.h + %s end,\n",
        coin(s) ? "m:param(site, \"share\", { m.dim }, 0.2) * state.first"
                : "m:linear(site, \"way\", tanh(state.first), m.dim)");
    say(s, "    write = function(m, state, site, out)\n");
    say(s, "      return { h = 0.8 * state.h + out, first = state.first } end,\n");
    say(s, "    close = function(m, state, site) return state.h%s end,\n",
        coin(s)       ? ""
            : coin(s) ? ", 0.1 * m:nll(state.first)"
                      : ", 0.01 * mean(state.h * state.h, 1)");
    say(s, "  } {},\n");
}
