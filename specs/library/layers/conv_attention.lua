-- SPDX-License-Identifier: MIT
-- Compressed convolutional attention (arXiv 2510.04476), as in ZAYA1 (transformers 5.23).  Queries
-- and keys are their projections after two convolutions, the first one per channel, the second
-- across the channels of a head, plus a mean of both projections.  Half of the values comes from
-- the token, the other half from the token before it.  Vectors of heads are scaled to one length,
-- those of keys also multiplied by a learned number per head.
local rope = require "rope"
local count = { type = "integer", min = 1, max = 1 << 20, required = true }
local taps = { type = "integer", min = 1, max = 64, default = 2 }

-- Heads [tokens,H,d] of the length sqrt(d).
local function unit(x)
  local heads, d = x:shape()[1], x:shape()[2]
  return x * reshape(d ^ 0.5 * rsqrt(max(sum(x * x, 2), 2 ^ -46)), { heads, 1 })
end

-- x [tokens,C] through both convolutions.  Before the sequence the first one gives its bias.
local function mixed(m, site, x, heads, d)
  local o, width = m.options, x:shape()[1]
  local z = conv(x, m:param(site, "channel_conv.weight", { width, o.channel_taps }, normal(0.02)))
  local bias, parts = m:param(site, "channel_conv.bias", { width }, 0), {}
  for j = 1, o.head_taps do
    local back = o.head_taps - j
    parts[j] = reshape((back > 0 and shift(z, back) or z) + bias, { heads, d })
  end
  local w = m:param(site, "head_conv.weight", { heads, d, o.head_taps * d }, normal(0.02))
  return linear_each(concat(parts, 2), w)
    + reshape(m:param(site, "head_conv.bias", { width }, 0), { heads, d })
end

-- [tokens,G,d]
local function values(m, site, x, G, d)
  local bias, half = m.options.bias, G * d // 2
  local now = m:linear(site, "v", x, half, bias)
  local before = shift(m:linear(site, "v_before", x, half), 1)
  if bias then before = before + m:param(site, "v_before.bias", { half }, 0) end
  return reshape(concat({ now, before }, 1), { G, d })
end

return sublayer {
  name = "attention",
  options = {
    heads = count, kv_heads = count, head_dim = count, channel_taps = taps, head_taps = taps,
    bias = { type = "boolean", default = false },
    window = { type = "integer", min = 1, max = 1 << 20 },
    rope = { type = "table", fields = rope.fields },
  },
  check = function(o)
    if o.heads % o.kv_heads ~= 0 then
      error("conv_attention: expected kv_heads to divide heads = " .. o.heads .. ", found "
        .. o.kv_heads)
    end
    if o.kv_heads * o.head_dim % 2 ~= 0 then
      error("conv_attention: expected values of an even width, found kv_heads * head_dim = "
        .. o.kv_heads * o.head_dim)
    end
    if o.rope then rope.check("conv_attention", o.rope, o.head_dim) end
  end,
  forward = function(m, site, x)
    local o = m.options
    local H, G, d = o.heads, o.kv_heads, o.head_dim
    local q, k = m:linear(site, "q", x, H * d, o.bias), m:linear(site, "k", x, G * d, o.bias)
    local between = (reshape(q, { G, H // G, d }) + reshape(k, { G, 1, d })) * 0.5
    local both = mixed(m, site, concat({ q, k }, 1), H + G, d)
    q = unit(slice(both, 1, 1, H) + reshape(between, { H, d }))
    k = unit(slice(both, 1, H + 1, G) + mean(between, 2))
    k = k * reshape(m:param(site, "k_scale", { G }, 1), { G, 1 })
    if o.rope then q, k = rope.turn(o.rope, q, m.context), rope.turn(o.rope, k, m.context) end
    local y = attention(q, k, values(m, site, x, G, d),
      { causal = true, scale = d ^ -0.5, window = o.window })
    return m:linear(site, "o", reshape(y, { H * d }), m.dim, o.bias)
  end,
}
