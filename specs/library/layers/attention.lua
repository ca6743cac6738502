-- SPDX-License-Identifier: MIT
-- Multi-head attention over time; query head h uses key head h // (heads / kv_heads).
-- Under a route (site.routed) some tokens may attend only to each other.  The others then
-- pass on their own value, as if they saw only themselves, or get nothing (bypass =
-- "none").  A route may also let all tokens attend to some tokens and to themselves (keys).
-- window = n: token i sees tokens i - n + 1 ... i, and caches hold no more. sinks: one
-- logit per head takes a share of the softmax and gives nothing (arXiv 2309.17453; learned:
-- 2508.10925). value_residual: values are mixed, with learned weights, with those of the
-- first layer that has it (arXiv 2410.17897). bias: for all four projections, or for those
-- in a list, { "q", "k", "v" }. qk_norm: RMSNorm of queries and keys, with the fields of
-- 'normed' below. out_norm: RMSNorm of the heads' outputs, before the gate. softcap = c:
-- scores s become c tanh(s / c). scale: the factor of scores, head_dim ^ -0.5 by default.
-- gate = {}: the sigmoid of a projection of x multiplies the heads' outputs, channel by
-- channel (arXiv 2505.06708). growth = { from = n, power = p }: scores grow with the
-- token's position.
local rope, heads = require "rope", require "heads"
local count = { type = "integer", min = 1, max = 1 << 20 }

-- over: one head at a time, or all that a projection gives; after_rope: behind the rotation
-- instead of before it; gain: whether there is one.
local normed = {
  over = { type = "string", one_of = { "head", "all" }, default = "head" },
  after_rope = { type = "boolean", default = false },
  gain = { type = "boolean", default = true },
}

-- RMSNorm, whatever the model's norm: x [tokens, heads, d]
local function head_norm(m, site, name, x, how)
  local heads, d = x:shape()[1], x:shape()[2]
  if how.over == "all" then x = reshape(x, { 1, heads * d }) end
  local rows, n = x:shape()[1], x:shape()[2]
  x = x * reshape(rsqrt(mean(x * x, 2) + m.eps), { rows, 1 })
  if how.gain ~= false then x = x * m:param(site, name .. ".weight", { n }, 1) end
  return reshape(x, { heads, d })
end

-- Queries and keys as they meet: normed, turned by their positions.
local function placed(m, site, q, k)
  local o, how = m.options, m.options.qk_norm
  if how == true then how = {} end
  local function norms()
    q = head_norm(m, site, "q_norm", q, how)
    k = head_norm(m, site, "k_norm", k, how)
  end
  if how and not how.after_rope then norms() end
  if o.rope then
    q, k = rope.turn(o.rope, q, m.context), rope.turn(o.rope, k, m.context)
  end
  if how and how.after_rope then norms() end
  return q, k
end

-- Whether the projection 'name' has a bias.
local function has_bias(bias, name)
  if type(bias) == "boolean" then return bias end
  for _, other in ipairs(bias) do
    if other == name then return true end
  end
  return false
end

local function sizes(m)
  local o = m.options
  local kv, d = o.kv_heads or o.heads, o.head_dim
  if not d and m.dim % o.heads ~= 0 then
    error("attention: expected heads to divide dim = " .. m.dim .. " or a head_dim, found "
      .. o.heads .. " heads")
  end
  d = d or m.dim // o.heads
  if o.heads % kv ~= 0 then
    error("attention: expected kv_heads to divide heads = " .. o.heads .. ", found " .. kv)
  end
  if o.rope then rope.check("attention", o.rope, d) end
  if o.window and not o.causal then
    error("attention: expected no window with causal = false, found " .. o.window)
  end
  return kv, d
end

-- v mixed with the first values that were kept, or kept as these.
local function with_first(m, site, v, routed)
  if routed.rows or routed.keys then
    error("attention: expected no value_residual under a route, found one")
  end
  local first = m:kept("values")[1]
  m:keep("values", v)
  if not first then return v end
  local mine, theirs = table.concat(v:shape(), ","), table.concat(first:shape(), ",")
  if mine ~= theirs then
    error("attention: expected values as the first layer with value_residual has them, ["
      .. theirs .. "], found [" .. mine .. "]")
  end
  local mix = m:param(site, "value_mix", { 2 }, 0.5)
  local function share(i) return reshape(slice(mix, 1, i, 1), { 1, 1 }) end
  return share(1) * v + share(2) * first
end

-- What tokens outside of 'keys' see beside those: themselves.  o and lse are of the keys.
local function with_self(q, k, v, o, lse, mask, how)
  local kv, d, heads = k:shape()[1], k:shape()[2], q:shape()[1]
  local own = sum(reshape(q, { kv, heads // kv, d }) * reshape(k, { kv, 1, d }), 3) * how.scale
  if how.softcap then own = how.softcap * tanh(own / how.softcap) end
  local share = select(reshape(mask, { 1, 1 }), 0, sigmoid(own - reshape(lse, { kv, heads // kv })))
  local y = reshape(o, { kv, heads // kv, d })
  share = reshape(share, { kv, heads // kv, 1 })
  return reshape(y + share * (reshape(v, { kv, 1, d }) - y), { heads, d })
end

-- y [tokens,H,d], of the keys that a route chooses, if it does
local function attended(m, site, q, k, v, how)
  local o, routed = m.options, site.routed or {}
  if routed.keys then
    if o.window or o.sinks then
      error("attention: expected no window and no sinks where a route chooses the keys, found "
        .. (o.window and "a window" or "sinks"))
    end
    local some_k, some_v = gather(k, routed.keys), gather(v, routed.keys)
    local o_some = attention(q, some_k, some_v, how)
    local lse = attention_lse(q, some_k, some_v, how)
    return with_self(q, k, v, o_some, lse, routed.mask, how)
  end
  local values = routed.bypass == "vo" and gather(v, routed.rows) or v
  local y = attention(q, k, values, how)
  if not o.sinks then return y end
  return heads.with_sinks(y, attention_lse(q, k, values, how),
    m:param(site, "sinks", { o.heads }, 0))
end

return sublayer {
  options = {
    heads = { type = "integer", min = 1, max = 1 << 20, required = true },
    kv_heads = count, head_dim = count,
    causal = { type = "boolean", default = true },
    bias = { any_of = { { type = "boolean" },
      { type = "list", of = { type = "string", one_of = { "q", "k", "v", "o" } } } },
      default = false },
    qk_norm = { any_of = { { type = "boolean" }, { type = "table", fields = normed } },
      default = false },
    rope = { type = "table", fields = rope.fields },
    -- what the mixer is asked for: one stream, or one each for q, k and v
    reads = { type = "string", one_of = { "one", "each" }, default = "one" },
    window = count,
    sinks = { type = "boolean", default = false },
    softcap = { type = "number", above = 0 },
    scale = { type = "number", above = 0 },
    value_residual = { type = "boolean", default = false },
    out_norm = { any_of = { { type = "boolean" },
      { type = "table", fields = { over = normed.over, gain = normed.gain } } }, default = false },
    gate = heads.gate, growth = heads.growth,
  },
  reads = function(o) return o.reads == "each" and { "q", "k", "v" } or nil end,
  forward = function(m, site, x)
    local o, routed = m.options, site.routed or {}
    local kv, d = sizes(m)
    local list, passes = routed.rows, routed.bypass == "vo"
    local function input(name, all)
      local from = o.reads == "each" and x[name] or x
      return list and not all and gather(from, list) or from
    end
    local function project(name, count, all)
      return reshape(m:linear(site, name, input(name, all), count * d, has_bias(o.bias, name)),
        { count, d })
    end
    local q, k, v = project("q", o.heads), project("k", kv), project("v", kv, passes)
    if o.value_residual then v = with_first(m, site, v, routed) end
    q, k = placed(m, site, q, k)
    if o.growth then q = heads.grown(o.growth, q) end
    local how = { causal = o.causal, scale = o.scale or d ^ -0.5, window = o.window,
      softcap = o.softcap }
    local y = attended(m, site, q, k, v, how)
    if passes then
      local mask = reshape(routed.mask, { 1, 1, 1 })
      y = reshape(scatter(y, list), { kv, o.heads // kv, d })
      y = reshape(select(mask, y, reshape(v, { kv, 1, d })), { o.heads, d })
    end
    if o.out_norm then
      y = head_norm(m, site, "out_norm", y, o.out_norm == true and {} or o.out_norm)
    end
    if o.gate then y = heads.gated(m, site, o.gate, y, input("q", passes)) end
    return m:linear(site, "o", reshape(y, { o.heads * d }), m.dim, has_bias(o.bias, "o"))
  end,
}
