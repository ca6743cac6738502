-- SPDX-License-Identifier: MIT
-- Multi-head latent attention (arXiv 2405.04434).  A token has one normed latent c [latent], which
-- gives keys and values, and a part kr [rope_dim] that all heads share and that alone rotates:
--   [kn; v] of a head = kv_up c     score = (qn . kn + qr . kr) (nope_dim + rope_dim) ^ -0.5
-- A token's cache is [c; kr].  Decoding reads it directly: qn kv_up is a query for c, and kv_up
-- turns the heads' sums of c into values, exact to rounding.  With q_latent, queries come from a
-- normed latent too; rope_dim may be 0. bias: for the projections to latents and for the output.
-- sinks, gate: as in attention.
local rope, heads = require "rope", require "heads"
local channels = { type = "integer", min = 1, max = 1 << 20 }

-- RMSNorm, whatever the model's norm.
local function latent_norm(m, site, name, x)
  local o, d = m.options, x:shape()[1]
  local r = reshape(rsqrt(mean(x * x, 1) + (o.eps or m.eps)), { 1 })
  return x * r * m:param(site, name .. ".weight", { d }, 1)
end

local function queries(m, site, x)
  local o = m.options
  local d = o.nope_dim + o.rope_dim
  if not o.q_latent then return reshape(m:linear(site, "q", x, o.heads * d), { o.heads, d }) end
  local latent = latent_norm(m, site, "q_norm",
    m:linear(site, "q_down", x, o.q_latent, o.bias))
  return reshape(m:linear(site, "q_up", latent, o.heads * d), { o.heads, d })
end

-- Each head's own keys and values: [tokens, heads, value_dim].
local function by_heads(o, w, qn, qr, c, kr, how, sinks)
  local kv = reshape(linear(c, w), { o.heads, o.nope_dim + o.value_dim })
  local kn, v = slice(kv, 2, 1, o.nope_dim), slice(kv, 2, o.nope_dim + 1, o.value_dim)
  local same = {}
  for h = 1, o.heads do same[h] = kr end
  local q, k = qn, kn
  if kr then q, k = concat({ qn, qr }, 2), concat({ kn, concat(same, 1) }, 2) end
  local y = attention(q, k, v, how)
  return sinks and heads.with_sinks(y, attention_lse(q, k, v, how), sinks) or y
end

-- The same in the space of latents: one head of keys, whose first channels are the values.
local function by_latents(o, w, qn, qr, c, kr, how, sinks)
  local each = reshape(w, { o.heads, o.nope_dim + o.value_dim, o.latent })
  local q = linear_each(qn, each, { count = o.nope_dim, back = true })
  local k = reshape(c, { 1, o.latent })
  if kr then q, k = concat({ q, qr }, 2), concat({ k, kr }, 2) end
  local y = attention(q, k, o.latent, how)
  if sinks then y = heads.with_sinks(y, attention_lse(q, k, o.latent, how), sinks) end
  return linear_each(y, each, { first = o.nope_dim + 1 })
end

return sublayer {
  name = "attention",
  options = {
    heads = { type = "integer", min = 1, max = 65536, required = true },
    nope_dim = { type = "integer", min = 1, max = 1 << 20, required = true },
    rope_dim = { type = "integer", min = 0, max = 1 << 20, required = true },
    value_dim = { type = "integer", min = 1, max = 1 << 20, required = true },
    latent = { type = "integer", min = 1, max = 1 << 20, required = true },
    q_latent = channels,
    rope = { type = "table", fields = rope.fields },
    eps = { type = "number", above = 0 },
    scale = { type = "number", above = 0 },
    window = channels,
    bias = { type = "boolean", default = false },
    sinks = { type = "boolean", default = false },
    gate = heads.gate,
  },
  check = function(o)
    if o.rope and o.rope_dim == 0 then
      error("mla: expected no rope with rope_dim = 0, found one")
    end
    if o.rope then rope.check("mla", o.rope, o.rope_dim) end
  end,
  forward = function(m, site, x)
    local o = m.options
    if site.routed and site.routed.keys then
      error("mla: expected no route that chooses the keys, found one")
    end
    local q = queries(m, site, x)
    local down = m:linear(site, "kv_down", x, o.latent + o.rope_dim, o.bias)
    local c = latent_norm(m, site, "kv_norm", slice(down, 1, 1, o.latent))
    local qn, qr, kr = q, nil, nil
    if o.rope_dim > 0 then
      qn, qr = slice(q, 2, 1, o.nope_dim), slice(q, 2, o.nope_dim + 1, o.rope_dim)
      kr = reshape(slice(down, 1, o.latent + 1, o.rope_dim), { 1, o.rope_dim })
    end
    if o.rope then
      qr, kr = rope.turn(o.rope, qr, m.context), rope.turn(o.rope, kr, m.context)
    end
    local w = m:param(site, "kv_up.weight",
      { o.heads * (o.nope_dim + o.value_dim), o.latent }, normal(0.02))
    local how = { scale = o.scale or (o.nope_dim + o.rope_dim) ^ -0.5, window = o.window }
    local sinks = o.sinks and m:param(site, "sinks", { o.heads }, 0)
    local y = select(decoding(), by_latents(o, w, qn, qr, c, kr, how, sinks),
      by_heads(o, w, qn, qr, c, kr, how, sinks))
    if o.gate then y = heads.gated(m, site, o.gate, y, x) end
    return m:linear(site, "o", reshape(y, { o.heads * o.value_dim }), m.dim, o.bias)
  end,
}
