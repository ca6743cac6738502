-- SPDX-License-Identifier: MIT
-- Attention without rotary positions, as in Inkling-2 (transformers 5.23).  Scores have a bias for
-- each distance up to a limit; each token mixes it from learned profiles.  Keys and values go
-- through short convolutions.  The vectors of query and key heads are limited in length, those of
-- values are divided by their root mean square.  Each token computes its sink and its gate; a
-- convolution follows at the end.  Layers without a window read q, k and v separately, add taps
-- computed for each token to the convolutions of keys and values, and multiply scores by 1 + growth
-- log(position / floor) from position 'floor' on.
local recurrent = require "recurrent"

-- Heads [tokens,H,d] cut down to a length.
local function clip(x, threshold)
  local length = sqrt(sum(x * x, 2) + 1e-12) + 1e-6
  return x * reshape(min(threshold / length, 1), { x:shape()[1], 1 })
end

local function scaled_clip(m, site, name, x, threshold)
  local shape = x:shape()
  return clip(x * m:param(site, name .. ".scale", { shape[1], shape[2] }, 1), threshold)
end

-- Of no length of its own: x / rms(x), by heads.
local function unit(m, x)
  return x * reshape(rsqrt(mean(x * x, 2) + m.eps), { x:shape()[1], 1 })
end

-- [tokens,H,extent]: profiles [extent,r] of distances, mixed by a token's states [tokens,H,r]
local function position_bias(m, site, states, extent)
  local shape = states:shape()
  local profiles = m:param(site, "distance.weight", { extent, shape[2] }, normal(0.02))
  return sum(reshape(states, { shape[1], 1, shape[2] })
    * reshape(profiles, { 1, extent, shape[2] }), 3)
end

-- q and the relative states [tokens,H,...], longer the later the token.
local function grown(o, q, relative)
  if o.window or o.growth == 0 then return q, relative end
  local at = public.position { number = true, of = q }
  local tau = reshape(1 + o.growth * log(max((at + 1) / o.floor, 1)), { 1, 1 })
  return q * tau, relative * tau
end

local count = { type = "integer", min = 1, max = 1 << 20, required = true }

return sublayer {
  name = "attention",
  options = {
    heads = count, kv_heads = count, head_dim = count,
    window = { type = "integer", min = 1, max = 1 << 20 },
    extent = count,                                                    -- of the bias, in tokens
    relative_dim = { type = "integer", min = 1, max = 1 << 20, default = 16 },  -- profiles
    conv = { type = "integer", min = 1, max = 64, default = 4 },       -- taps
    clip = { type = "number", above = 0, default = 512 ^ 0.5 },
    relative_clip = { type = "number", above = 0, default = 8 },
    floor = { type = "integer", min = 1, default = 128000 },
    growth = { type = "number", min = 0, default = 0.1 },
  },
  check = function(o)
    if o.heads % o.kv_heads ~= 0 then
      error("relative_attention: expected kv_heads to divide heads = " .. o.heads .. ", found "
        .. o.kv_heads)
    end
  end,
  reads = function(o) return not o.window and { "q", "k", "v" } or nil end,
  forward = function(m, site, x)
    local o = m.options
    local H, G, d = o.heads, o.kv_heads, o.head_dim
    local from = o.window and { q = x, k = x, v = x } or x
    local function past(name)
      local y, conv_name = m:linear(site, name, from[name], G * d), name .. "_conv"
      if o.window then y = recurrent.residual_conv(m, site, conv_name, y, o.conv)
      else y = recurrent.dynamic_conv(m, site, conv_name, y, o.conv, G, from[name]) end
      return reshape(y, { G, d })
    end
    local function of_query(name, size) return m:linear(site, name, from.q, size) end
    local q = scaled_clip(m, site, "q_clip", reshape(of_query("q", H * d), { H, d }), o.clip)
    local relative = reshape(of_query("relative", H * o.relative_dim), { H, o.relative_dim })
    relative = scaled_clip(m, site, "relative_clip", relative, o.relative_clip)
    q, relative = grown(o, q, relative)
    local k, v = clip(past "k", o.clip), unit(m, past "v")
    local how = { causal = true, scale = d ^ -0.5, window = o.window,
                  by_distance = position_bias(m, site, relative, o.extent) }
    local y = attention(q, k, v, how)
    local share = sigmoid(attention_lse(q, k, v, how) - of_query("sink", H))
    y = reshape(y * reshape(share, { H, 1 }), { H * d }) * sigmoid(of_query("gate", H * d))
    return recurrent.residual_conv(m, site, "out_conv", m:linear(site, "o", y, m.dim), o.conv)
  end,
}
