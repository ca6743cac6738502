-- What a layer computes, written out for all tokens, with masks instead of lists of rows: routes
-- are tested against these.  Parameters are those of the library's layers, by their names.
local dense = {}

-- Logits of pairs that do not see each other are lowered by so much: nothing is left of their exp.
local FAR = 1000

function dense.number(x) return reshape(x, {}) end

local function angles(n)
  local f = {}
  for i = 1, n do f[i] = 2 * math.pi * i / n end
  return f
end

-- [tokens, 2 n]: the product of those of positions i and j is n if they are equal, else 0.
local function ones_at(n)
  return concat({ wave(angles(n)), wave(angles(n), { sine = true }) }, 1)
end

-- 1 at the first k of at most n positions: sums of ones_at.
function dense.first(k, n)
  local sum, at = 0, ones_at(n)
  for i, a in ipairs(angles(n)) do
    local c, s = 0, 0
    for p = 0, k - 1 do c, s = c + math.cos(a * p), s + math.sin(a * p) end
    sum = sum + c / n * dense.number(slice(at, 1, i, 1)) + s / n * dense.number(slice(at, 1, n + i, 1))
  end
  return greater(sum, 0.5)
end

function dense.norm(r, site, name, x)
  return x * rsqrt(mean(x * x) + r.eps) * r:param(site, name .. ".norm.weight", { r.dim }, 1)
end

local function head_norm(r, site, name, x, d)
  local scale = rsqrt(mean(x * x, 2) + r.eps)
  return x * reshape(scale, { x:shape()[1], 1 }) * r:param(site, name .. ".weight", { d }, 1)
end

local function turned(x, theta, d)
  local f = {}
  for i = 1, d // 2 do f[i] = theta ^ (-2 * (i - 1) / d) end
  local c, s = wave(f), wave(f, { sine = true })
  local a, b = slice(x, 2, 1, d // 2), slice(x, 2, d // 2 + 1, d // 2)
  return concat({ a * c - b * s, a * s + b * c }, 2)
end

-- A row of numbers, the same for each head.
local function for_heads(x, heads)
  local width, list = x:shape()[1], {}
  for h = 1, heads do list[h] = reshape(x, { 1, width }) end
  return concat(list, 1)
end

-- Attention on the normed x where token i sees j, not later than i: 'both': if i = j or both are in
-- the mask; else if i = j or j is.  o: heads, kv_heads, theta, projections (biases), qk_norm, gated.
function dense.attention(r, site, x, o, mask, both)
  local heads, kv, d, n = o.heads, o.kv_heads or o.heads, r.dim // o.heads, r.context
  local scale = 1 / math.sqrt(d)
  local q = reshape(r:linear(site, "attention.q", x, heads * d, o.projections), { heads, d })
  local k = reshape(r:linear(site, "attention.k", x, kv * d, o.projections), { kv, d })
  local v = reshape(r:linear(site, "attention.v", x, kv * d, o.projections), { kv, d })
  if o.qk_norm then q, k = head_norm(r, site, "attention.q_norm", q, d), head_norm(r, site, "attention.k_norm", k, d) end
  if o.theta then q, k = turned(q, o.theta, d), turned(k, o.theta, d) end
  local out = reshape(1 - mask, { 1 })
  -- lowered for keys outside of the mask, raised again for tokens outside of it and themselves
  local raised, at = (both and 2 or 1) * FAR / (scale * n), ones_at(n)
  q = concat({ q, for_heads(out * 0 + 1, heads), for_heads(out * at * raised, heads) }, 2)
  k = concat({ k, for_heads(out * (-FAR / scale), kv), for_heads(at, kv) }, 2)
  local y = attention(q, k, v, { causal = true, scale = scale })
  if o.gated then
    local gate = reshape(r:linear(site, "attention.gate", x, heads * d), { heads, d })
    y = y * sigmoid(gate + reshape(r:param(site, "attention.gate.bias", { heads }, 0), { heads, 1 }))
  end
  return r:linear(site, "attention.o", reshape(y, { heads * d }), r.dim, o.projections)
end

-- A layer of attention and an MLP on a plain stream.
function dense.layer(r, site, x, o, mask)
  x = x + dense.attention(r, site, dense.norm(r, site, "attention", x), o, mask, false)
  local h = dense.norm(r, site, "mlp", x)
  local gate = r:linear(site, "mlp.gate", h, o.wide)
  return x + r:linear(site, "mlp.down", gate * sigmoid(gate) * r:linear(site, "mlp.up", h, o.wide), r.dim)
end

dense.options = {
  heads = { type = "integer", required = true }, kv_heads = { type = "integer" }, theta = { type = "number" },
  projections = { type = "boolean", default = false }, qk_norm = { type = "boolean", default = false },
  gated = { type = "boolean", default = false },
  wide = { type = "integer", default = 24 },
}

-- The options of a route beside those.
function dense.with(more)
  for name, field in pairs(dense.options) do more[name] = field end
  return more
end

return dense
