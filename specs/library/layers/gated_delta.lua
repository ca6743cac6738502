-- SPDX-License-Identifier: MIT
-- Gated DeltaNet (arXiv 2412.06464): one state [head_dim, value_dim] per head, which decays as a
-- whole and is corrected towards v; no positions.  With value_heads, several value heads share one
-- head of queries and keys. gate: silu (true) or sigmoid of a projection multiplies the output.
local recurrent = require "recurrent"
local count = recurrent.count

local function sizes(m)
  local o = m.options
  local values = o.value_heads or o.heads
  if not o.head_dim and m.dim % o.heads ~= 0 then
    error("gated_delta: expected heads to divide dim = " .. m.dim .. " or a head_dim, found "
      .. o.heads .. " heads")
  end
  local d = o.head_dim or m.dim // o.heads
  if values % o.heads ~= 0 then
    error("gated_delta: expected heads = " .. o.heads .. " to divide value_heads, found " .. values)
  end
  return o.heads, values, d, o.value_dim or d
end

return sublayer {
  name = "attention",
  options = {
    heads = { type = "integer", min = 1, max = 1 << 20, required = true },
    value_heads = count, head_dim = count, value_dim = count,
    conv = { type = "integer", min = 0, max = 64, default = 4 },
    gate = { any_of = { { type = "boolean" },
      { type = "string", one_of = { "silu", "sigmoid" } } }, default = true },
  },
  forward = function(m, site, x)
    local o = m.options
    local G, H, d, e = sizes(m)
    local function stream(name, heads, width)
      local y = m:linear(site, name, x, heads * width)
      return reshape(recurrent.short_conv(m, site, name .. "_conv", y, o.conv), { heads, width })
    end
    local q = recurrent.unit(stream("q", G, d)) * d ^ -0.5
    local k, v = recurrent.unit(stream("k", G, d)), stream("v", H, e)
    local f = m:linear(site, "decay", x, H) + recurrent.decay_bias(m, site, H)
    local y = recurrence(q, k, v, {
      decay = recurrent.decay(m, site, f), delta = sigmoid(m:linear(site, "beta", x, H)),
    })
    y = reshape(recurrent.head_norm(m, site, "out_norm", y), { H * e })
    local act = o.gate == "sigmoid" and sigmoid or recurrent.silu
    if o.gate then y = y * act(m:linear(site, "gate", x, H * e)) end
    return m:linear(site, "o", y, m.dim)
  end,
}
