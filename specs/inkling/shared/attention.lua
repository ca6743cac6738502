-- Attention of Inkling-2: no rotary positions, but a bias for each distance up to an extent, which
-- a token mixes out of learned profiles; keys and values go through short convolutions; heads of
-- queries and keys are no longer than a threshold; a sink and a gate that the token itself chooses.
-- Layers that see everything (no window) read q, k and v each on their own.
local convs = require "shared.conv"

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

local function position_bias(m, site, states, extent)
  local shape = states:shape()
  local profiles = m:param(site, "distance.weight", { extent, shape[2] }, normal(0.02))
  return sum(reshape(states, { shape[1], 1, shape[2] })
    * reshape(profiles, { 1, extent, shape[2] }), 3)
end

local count = { type = "integer", min = 1, required = true }

return sublayer {
  options = {
    heads = count, kv_heads = count, head_dim = count,
    window = { type = "integer", min = 1 },
    extent = count,                                                    -- of the bias, in tokens
    relative_dim = { type = "integer", min = 1, default = 16 },        -- profiles a head mixes
    clip = { type = "number", above = 0, default = 512 ^ 0.5 },
    relative_clip = { type = "number", above = 0, default = 8 },
    floor = { type = "integer", min = 1, default = 128000 },           -- scores grow from here on
    growth = { type = "number", min = 0, default = 0.1 },
  },
  reads = function(o) return not o.window and { "q", "k", "v" } or nil end,
  forward = function(m, site, x)
    local o = m.options
    local H, G, d = o.heads, o.kv_heads, o.head_dim
    local from = o.window and { q = x, k = x, v = x } or x
    local function past(name)
      local y = m:linear(site, name, from[name], G * d)
      if o.window then y = convs.static(m, site, name .. "_conv", y)
      else y = convs.dynamic(m, site, name .. "_conv", y, G, from[name]) end
      return reshape(y, { G, d })
    end
    local function of_query(name, size) return m:linear(site, name, from.q, size) end
    local q = scaled_clip(m, site, "q_clip", reshape(of_query("q", H * d), { H, d }), o.clip)
    local relative = reshape(of_query("relative", H * o.relative_dim), { H, o.relative_dim })
    relative = scaled_clip(m, site, "relative_clip", relative, o.relative_clip)
    if not o.window and o.growth > 0 then
      local at = position { number = true, of = q }
      local tau = 1 + o.growth * log(max((at + 1) / o.floor, 1))
      q, relative = q * reshape(tau, { 1, 1 }), relative * reshape(tau, { 1, 1 })
    end
    local k, v = clip(past "k", o.clip), unit(m, past "v")
    local how = { causal = true, scale = d ^ -0.5, window = o.window,
                  by_distance = position_bias(m, site, relative, o.extent) }
    local y = attention(q, k, v, how)
    local share = sigmoid(attention_lse(q, k, v, how) - of_query("sink", H))
    y = reshape(y * reshape(share, { H, 1 }), { H * d }) * sigmoid(of_query("gate", H * d))
    return convs.static(m, site, "out_conv", m:linear(site, "o", y, m.dim))
  end,
}
