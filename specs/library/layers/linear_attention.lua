-- SPDX-License-Identifier: MIT
-- Attention without a softmax: a state [head_dim, value_dim] a head, the sum of k v^T.  'decay'
-- says how it forgets:
--   none      not at all (arXiv 2006.16236)
--   fixed     head h, from 0, by 1 - 2^(-5-h) a token (RetNet, arXiv 2307.08621)
--   head      by what the token says, one number a head (Mamba-2, arXiv 2405.21060)
--   channel   the same, one number a channel (GLA, arXiv 2312.06635)
-- 'positive' makes queries and keys 1 + elu; 'gate' multiplies the normed output by silu of x.
-- With kv_heads, several heads of values share one of queries and keys.
local recurrent = require "recurrent"
local count = recurrent.count

local function sizes(m)
  local o = m.options
  local groups = o.kv_heads or o.heads
  if not o.head_dim and m.dim % o.heads ~= 0 then
    error("linear_attention: expected heads to divide dim = " .. m.dim .. " or a head_dim, found "
      .. o.heads .. " heads")
  end
  if o.heads % groups ~= 0 then
    error("linear_attention: expected kv_heads to divide heads = " .. o.heads .. ", found "
      .. groups)
  end
  local d = o.head_dim or m.dim // o.heads
  return o.heads, groups, d, o.value_dim or d
end

local function fixed(H)
  local list = {}
  for h = 0, H - 1 do list[h + 1] = math.log(1 - 2 ^ (-5 - math.min(h, 40))) end
  return stack(list)
end

-- log sigmoid(f) / 16, as in GLA
local function slow(f) return recurrent.softplus(-f) * (-1 / 16) end

local decays = {
  none = function() end,
  fixed = function(_, _, _, H) return fixed(H) end,
  head = function(m, site, x, H)
    local f = m:linear(site, "decay", x, H) + recurrent.decay_bias(m, site, H)
    return recurrent.decay(m, site, f)
  end,
  channel = function(m, site, x, H, d)
    local f = recurrent.through(m, site, "decay", x, m.options.rank, H * d)
    return reshape(slow(f + m:param(site, "decay_bias", { H * d }, 0)), { H, d })
  end,
}

-- 1 + elu: e^x below 0, 1 + x above
local function positive(x) return select(x, 1 + x, exp(min(x, 0))) end

return sublayer {
  name = "attention",
  options = {
    heads = { type = "integer", min = 1, max = 1 << 20, required = true },
    kv_heads = count, head_dim = count, value_dim = count,
    decay = { type = "string", one_of = { "none", "fixed", "head", "channel" }, default = "none" },
    rank = { type = "integer", min = 1, max = 1 << 20, default = 16 },
    positive = { type = "boolean", default = false },
    gate = { type = "boolean", default = false },
  },
  forward = function(m, site, x)
    local o = m.options
    local H, G, d, e = sizes(m)
    local q = reshape(m:linear(site, "q", x, G * d), { G, d })
    local k = reshape(m:linear(site, "k", x, G * d), { G, d })
    local v = reshape(m:linear(site, "v", x, H * e), { H, e })
    if o.positive then q, k = positive(q), positive(k) end
    local y = recurrence(q * d ^ -0.5, k, v, { decay = decays[o.decay](m, site, x, H, d) })
    y = reshape(recurrent.head_norm(m, site, "out_norm", y), { H * e })
    if o.gate then y = y * recurrent.silu(m:linear(site, "gate", x, H * e)) end
    return m:linear(site, "o", y, m.dim)
  end,
}
