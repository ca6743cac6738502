/* SPDX-License-Identifier: MIT
** See routed_kinds.h. */
#include "routed_kinds.h"

#include <stddef.h>

#define OWN "sublayer { forward = function(m, site, x) "
#define HEADS(n, how)                                                                            \
    "local function h(n) return reshape(m:linear(site, n, x, m.dim), { 2, 8 }) end\n"            \
    "return m:linear(site, 'o', reshape(attention(" n "h 'v', { causal = true, scale = 0.35" how \
    " }), { m.dim }), m.dim)"

#define HIDES "no route that hides tokens from others"

const RoutedKind routed_kinds[] = {
    { "attention { heads = 2, name = 'it', %s }", false, NULL },
    { "attention { heads = 4, kv_heads = 2, qk_norm = true, bias = true, window = 3, sinks = true, "
      "gate = {}, softcap = 5, out_norm = true, norm = { after = true }, name = 'it', %s }",
      false, "no window and no sinks where a route chooses the keys" },
    { "attention { heads = 4, growth = { from = 3, power = 0 }, name = 'it', %s }", false, NULL },
    { "mla { heads = 2, nope_dim = 6, rope_dim = 0, value_dim = 5, latent = 7, name = 'it', %s }",
      false, "no route that chooses the keys" },
    { "mla { heads = 2, nope_dim = 4, rope_dim = 2, value_dim = 6, latent = 8, q_latent = 6, "
      "window = 4, bias = true, sinks = true, gate = { bias = true }, name = 'it', %s }",
      false, "no route that chooses the keys" },
    { "kda { heads = 2, name = 'it', %s }", false, HIDES },
    { "kda { heads = 4, head_dim = 6, gate_rank = 3, conv = 0, floor = -3, name = 'it', %s }",
      false, HIDES },
    { "gated_delta { heads = 2, norm = { before = false, after = true }, name = 'it', %s }", false,
      HIDES },
    { "gated_delta { heads = 2, value_heads = 4, value_dim = 5, conv = 2, gate = 'sigmoid', name = "
      "'it', %s }",
      false, HIDES },
    { "linear_attention { heads = 2, name = 'it', %s }", false, HIDES },
    { "linear_attention { heads = 2, decay = 'fixed', positive = true, name = 'it', %s }", false,
      HIDES },
    { "linear_attention { heads = 4, kv_heads = 2, decay = 'head', gate = true, name = 'it', %s }",
      false, HIDES },
    { "linear_attention { heads = 2, decay = 'channel', rank = 3, name = 'it', %s }", false,
      HIDES },
    { "conv_attention { heads = 4, kv_heads = 2, head_dim = 4, bias = true, channel_taps = 3, name "
      "= 'it', %s }",
      false, HIDES },
    { "relative_attention { heads = 4, kv_heads = 2, head_dim = 4, window = 6, extent = 4, "
      "relative_dim = 3, name = 'it', %s }",
      false, HIDES },
    { "relative_attention { heads = 2, kv_heads = 2, head_dim = 4, extent = 3, relative_dim = 3, "
      "growth = 0, name = 'it', %s }",
      true, HIDES },
    { "shared_attention { heads = 4, head_dim = 4, q_latent = 6, out_groups = 2, out_rank = 3, "
      "window = 5, name = 'it', %s }",
      false, HIDES },
    { "attention { heads = 2, reads = 'each', name = 'it', %s }", true, NULL },
    { "mlp { hidden = 9, name = 'it', %s }", false, NULL },
    { "mlp { hidden = 9, activation = 'relu2', bias = true, norm = { after = true }, name = 'it', "
      "%s }",
      false, NULL },
    { "moe { experts = 4, top = 2, hidden = 6, name = 'it', %s }", false, NULL },
    { "moe { experts = 3, top = 2, hidden = 6, balance_bias = false, shared = 1, shared_gate = "
      "true, router = { hidden = 5 }, out_conv = 2, latent = 7, name = 'it', %s }",
      false, HIDES },
    { "moe { experts = 3, top = 1, hidden = 6, by_token = true, name = 'it', %s }", false, NULL },
    { OWN HEADS("h 'q', h 'k', ", "") " end } { name = 'it', %s }", false, HIDES },
    { OWN HEADS("h 'q', h 'k', ", ", window = 2") " end } { name = 'it', %s }", false, HIDES },
    { OWN "return conv(x, m:param(site, 'taps', { m.dim, 3 }, 1)) * sigmoid(shift(x, 2)) end } { "
          "name = 'it', %s }",
      false, HIDES },
    /* ids are those of the tokens that are worked on */
    { OWN "return m:linear(site, 'o', x * embed(m:param(site, 'of', { m.vocab, m.dim }, 1), "
          "tokens()), m.dim) end } { name = 'it', %s }",
      false, NULL },
    { "attention { heads = 2, name = 'it', %s }, mlp { hidden = 9, %s }", true, NULL },
    { "gated_delta { heads = 2, name = 'it', %s }, conv_attention { heads = 2, kv_heads = 2, "
      "head_dim = 4, name = 'other', %s }, moe { experts = 4, top = 1, hidden = 6, %s }",
      true, HIDES },
};

_Static_assert(sizeof routed_kinds / sizeof *routed_kinds == ROUTED_KINDS, "all are counted");
