-- Multi-head attention over time; query head h uses key head h // (heads / kv_heads).
local rope = require "rope"
local count = { type = "integer", min = 1, max = 1 << 20 }

-- Per-head RMSNorm, whatever the model's norm: x [tokens, heads, d]
local function head_norm(m, site, name, x)
  local heads, d = x:shape()[1], x:shape()[2]
  local r = reshape(rsqrt(mean(x * x, 2) + m.eps), { heads, 1 })
  return x * r * m:param(site, name .. ".weight", { d }, 1)
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
  if o.rope and d % 2 ~= 0 then
    error("attention: expected an even head_dim with rope, found " .. d)
  end
  return kv, d
end

return sublayer {
  options = {
    heads = { type = "integer", min = 1, max = 1 << 20, required = true },
    kv_heads = count, head_dim = count,
    causal = { type = "boolean", default = true },
    bias = { type = "boolean", default = false },
    qk_norm = { type = "boolean", default = false },
    rope = { type = "table", fields = rope.fields },
  },
  build = function(m, site, x)
    local o = m.options
    local kv, d = sizes(m)
    local q = reshape(m:linear(site, "q", x, o.heads * d, o.bias), { o.heads, d })
    local k = reshape(m:linear(site, "k", x, kv * d, o.bias), { kv, d })
    local v = reshape(m:linear(site, "v", x, kv * d, o.bias), { kv, d })
    if o.qk_norm then q, k = head_norm(m, site, "q_norm", q), head_norm(m, site, "k_norm", k) end
    if o.rope then q, k = rope.turn(o.rope, q), rope.turn(o.rope, k) end
    local y = attention(q, k, v, { causal = o.causal, scale = d ^ -0.5 })
    return m:linear(site, "o", reshape(y, { o.heads * d }), m.dim, o.bias)
  end,
}
