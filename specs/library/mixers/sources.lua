-- SPDX-License-Identifier: MIT
-- Shared by AttnRes and HAARES: blocks of sublayers, and reads of sources.
--   z_j = scale (q * g) . rms(v_j) + b_j      h = sum over j of softmax(z)_j v_j
-- value_norm: reads sum rms(v_j) instead of v_j if there are several (Inkling-2, with scale
-- D^-1/2). eps: of these norms; the model's by default.
local features = require "features"
local sources = {}
local whole = { type = "integer", min = 1 }
local flag = { type = "boolean", default = true }

-- The options of a read, added to those of a mixer.
function sources.options(more)
  local o = {
    blocks = whole, block_size = whole, heads = { type = "integer", min = 1, default = 1 },
    kernel = { type = "string", one_of = { "softmax", "sigmoid", "linear" }, default = "softmax" },
    query = { type = "string", one_of = { "learned", "input", "static" }, default = "learned" },
    rank = { type = "integer", min = 1, default = 8 }, key_norm = flag, key_gain = flag,
    value_norm = { type = "boolean", default = false }, scale = { type = "number", above = 0 },
    eps = { type = "number", min = 0, max = 1 },
  }
  for name, field in pairs(more) do o[name] = field end
  return o
end

local function check(m, o, ways)
  local given = (o.blocks and 1 or 0) + (o.block_size and 1 or 0) + (o.full and 1 or 0)
  if given ~= 1 then
    error("residual: expected exactly one of the options that say what a block is, " .. ways
      .. ", found " .. given)
  end
  if o.blocks and o.blocks > m.sublayers then
    error("residual: expected at most " .. m.sublayers .. " blocks, one per sublayer, found "
      .. o.blocks)
  end
  if m.dim % o.heads ~= 0 then
    error("residual: expected heads to divide dim = " .. m.dim .. ", found " .. o.heads)
  end
  if o.kernel == "linear" and o.heads > 1 then
    error("residual: expected one head with kernel 'linear', found " .. o.heads)
  end
  if o.kernel == "linear" and (o.value_norm or o.scale) then
    error("residual: expected kernel 'linear' without value_norm and scale, found "
      .. (o.value_norm and "value_norm" or "a scale"))
  end
  if o.kernel == "linear" and o.query == "static" then
    error("residual: expected a query with kernel 'linear', found static logits")
  end
end

-- Sublayers a block; 'ways' are the options that can say it.
function sources.block_size(m, ways)
  local o, S = m.options, m.sublayers
  check(m, o, ways)
  local size = o.full and 1 or o.block_size or -(-S // o.blocks)
  local count = -(-S // size)
  if o.blocks and count < o.blocks then
    m:note("residual: " .. count .. " blocks of " .. size .. " sublayers, " .. o.blocks
      .. " were asked for")
  end
  return size
end

-- q * g, [D] or, if it depends on the newest source, [tokens, D]
function sources.query(m, site, newest)
  local o, q = m.options, nil
  if o.query == "input" then q = linear(newest, m:param(site, "query.weight", { m.dim, m.dim }, 0))
  else q = m:param(site, "query", { m.dim }, 0) end
  return o.key_norm and o.key_gain and q * m:param(site, "key_norm.weight", { m.dim }, 1) or q
end

-- z of the stacked sources V [N, D]: [N], or [N, H] with several heads
local function logits(m, site, V, N, newest)
  local o, H = m.options, m.options.heads
  if o.query == "static" then return m:param(site, "logits", { N }, 0), 1 end
  local products = V * sources.query(m, site, newest)
  local z = H == 1 and sum(products, 2) or sum(reshape(products, { N, H, m.dim // H }), 3)
  if o.scale then z = z * o.scale end
  if not o.key_norm or o.value_norm then return z, H end
  local r = rsqrt(mean(V * V, 2) + (o.eps or m.eps))
  return z * (H == 1 and r or reshape(r, { N, 1 })), H
end

-- h from a list of tensors [D]; if given, bias [N] is added to the logits, and gain [N] multiplies
-- the weights
function sources.read(m, site, list, newest, bias, gain)
  local o, N, D = m.options, #list, m.dim
  m:sources(N)
  if o.kernel == "linear" then
    return features.read(m, list, sources.query(m, site, newest), bias)
  end
  if o.value_norm and N == 1 then return list[1] end
  local V = stack(list)
  if o.value_norm then V = V * reshape(rsqrt(mean(V * V, 2) + (o.eps or m.eps)), { N, 1 }) end
  local z, H = logits(m, site, V, N, newest)
  if bias then z = z + (H == 1 and bias or reshape(bias, { N, 1 })) end
  local alpha = o.kernel == "sigmoid" and sigmoid(z) or softmax(z, 1)
  if gain then alpha = alpha * (H == 1 and gain or reshape(gain, { N, 1 })) end
  if H == 1 then return sum(reshape(alpha, { N, 1 }) * V, 1) end
  return reshape(sum(reshape(alpha, { N, H, 1 }) * reshape(V, { N, H, D // H }), 1), { D })
end

return sources
