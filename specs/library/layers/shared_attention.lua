-- SPDX-License-Identifier: MIT
-- Attention to one head that is both key and value, as in DeepSeek-V4 (transformers 5.23).  Queries
-- come from a normed latent.  The last channels of queries and of the one head rotate by position,
-- and those of the heads' outputs rotate back.  Groups of heads go through products of their own to
-- 'out_rank' numbers each.  A learned logit takes a share of the weight and gives nothing. compress
-- = { rate = m }: beside a window of tokens, every m tokens have one more key, from their last
-- token on.  It is a mean of the values of the m tokens, each channel weighted by the softmax of
-- their gates and of a bias per place. overlap: means of 2 m tokens, the first m with other
-- products.  Gates and biases are limited to -60 ... 60.
local rope, heads = require "rope", require "heads"
local size = { type = "integer", min = 1, max = 1 << 20, required = true }

local function unit(m, x)
  return x * reshape(rsqrt(mean(x * x, 2) + m.eps), { x:shape()[1], 1 })
end

local function normed(m, site, name, x)
  local gain = m:param(site, name .. ".weight", { x:shape()[1] }, 1)
  return x * reshape(rsqrt(mean(x * x, 1) + m.eps), { 1 }) * gain
end

-- The last channels of heads, turned.
local function placed(m, o, x, by)
  if not o then return x end
  local count, d, n = x:shape()[1], x:shape()[2], o.dims or x:shape()[2]
  local turned = rope.turn(o, n < d and slice(x, 2, d - n + 1, n) or x, m.context, by)
  return n < d and concat({ slice(x, 2, 1, d - n), turned }, 2) or turned
end

-- 1 at the last of every m tokens, else below 0; of: for whose tokens
local function ends(m, of)
  local step = 2 * math.pi / m
  local c, s = wave({ step }, { of = of }), wave({ step }, { sine = true, of = of })
  -- the cosine of the next place, 1 where that is a multiple of m
  local next = c * math.cos(step) - s * math.sin(step)
  return reshape(next - (1 + math.cos(step)) / 2, {})
end

local function bounded(x) return exp(min(max(x, -60), 60)) end

-- Sums over the m tokens up to each of e^gate and of that times x, [tokens,d] both; the place's
-- bias comes to the gate.
local function sums(m, site, name, x, gate)
  local d, rate = x:shape()[1], m.options.compress.rate
  local bias = transpose(m:param(site, name .. ".bias", { rate, d }, 0), { 2, 1 })
  local weight, taps = bounded(gate), bounded(bias)
  return conv(weight * x, taps), conv(weight, taps)
end

-- One key for the tokens up to each, as it is from the last of every 'rate' on.
local function compressed(m, site, x)
  local o, d = m.options, m.options.head_dim
  local c = o.compress
  local function part(name)
    return sums(m, site, name, m:linear(site, name .. ".value", x, d),
      m:linear(site, name .. ".gate", x, d))
  end
  local all, weight = part "compressed"
  if c.overlap then
    local before, its = part "compressed_before"
    all, weight = all + shift(before, c.rate), weight + shift(its, c.rate)
  end
  local key = normed(m, site, "compressed_norm", all / weight)
  return placed(m, o.rope, reshape(key, { 1, d }), 1 - c.rate)
end

-- y and its log-sum-exp, joined by those of another softmax.
local function joined(y, lse, other, its)
  local count = y:shape()[1]
  return y + reshape(sigmoid(its - lse), { count, 1 }) * (other - y), lse + softplus(its - lse)
end

return sublayer {
  name = "attention",
  options = {
    heads = size, head_dim = size, q_latent = size, out_groups = size, out_rank = size,
    window = { type = "integer", min = 1, max = 1 << 20 },
    rope = { type = "table", fields = rope.fields },
    compress = { type = "table", fields = {
      rate = { type = "integer", min = 2, max = 512, required = true },
      overlap = { type = "boolean", default = false } } },
  },
  check = function(o)
    if o.heads % o.out_groups ~= 0 then
      error("shared_attention: expected out_groups to divide heads = " .. o.heads .. ", found "
        .. o.out_groups)
    end
    if o.rope then rope.check("shared_attention", o.rope, o.head_dim) end
  end,
  forward = function(m, site, x)
    local o, H, d = m.options, m.options.heads, m.options.head_dim
    if o.compress and core.list_of(x) then
      error("shared_attention: expected no compress where a route has some tokens work only, "
        .. "found it")
    end
    local latent = normed(m, site, "q_norm", m:linear(site, "q_down", x, o.q_latent))
    local q = unit(m, reshape(m:linear(site, "q_up", latent, H * d), { H, d }))
    q = placed(m, o.rope, q)
    local k = normed(m, site, "kv_norm", m:linear(site, "kv", x, d))
    k = placed(m, o.rope, reshape(k, { 1, d }))
    local how = { causal = true, scale = d ^ -0.5, window = o.window }
    local y, lse = attention(q, k, d, how), attention_lse(q, k, d, how)
    if o.compress then
      local key = compressed(m, site, x)
      local few = gather(key, rows(ends(o.compress.rate, x)))
      local far = { causal = true, scale = d ^ -0.5 }
      y, lse = joined(y, lse, attention(q, few, d, far), attention_lse(q, few, d, far))
    end
    y = heads.with_sinks(y, lse, m:param(site, "sinks", { H }, 0))
    local back = {}
    for name, value in pairs(o.rope or {}) do back[name] = value end
    back.direction = back.direction == "backward" and "forward" or "backward"
    y = placed(m, o.rope and back, y)
    local G, width = o.out_groups, H * d // o.out_groups
    local w = m:param(site, "out_down.weight", { G, o.out_rank, width }, normal(0.02))
    y = reshape(linear_each(reshape(y, { G, width }), w), { G * o.out_rank })
    return m:linear(site, "o", y, m.dim)
  end,
}
