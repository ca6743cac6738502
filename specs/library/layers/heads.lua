-- SPDX-License-Identifier: MIT
-- What sublayers that attend share: sinks, gates, and scores that grow with the place.
local heads = {}

-- The options of a gate: channel by channel (arXiv 2505.06708), with a bias of each head.
heads.gate = { type = "table", fields = { bias = { type = "boolean", default = false } } }

-- How much scores grow: by (1 + (place + 1) / from) ^ power, places counted from 0.
heads.growth = { type = "table", fields = {
  from = { type = "number", above = 0, required = true },
  power = { type = "number", min = 0, max = 8, required = true },
} }

-- y [tokens,H,d] of a softmax whose log-sum-exp is lse [tokens,H], with one more score, a number of
-- each head, that takes its weight and gives nothing.
function heads.with_sinks(y, lse, sinks)
  return y * reshape(sigmoid(lse - sinks), { y:shape()[1], 1 })
end

-- y [tokens,H,d] times sigmoid(gate x + bias)
function heads.gated(m, site, options, y, x)
  local count, d = y:shape()[1], y:shape()[2]
  local g = reshape(m:linear(site, "gate", x, count * d), { count, d })
  if options.bias then g = g + reshape(m:param(site, "gate.bias", { count }, 0), { count, 1 }) end
  return y * sigmoid(g)
end

-- q [tokens,H,d], longer the later the token.
function heads.grown(options, q)
  local place = public.position { number = true, of = q }
  local factor = exp(options.power * log(1 + (place + 1) / options.from))
  return q * reshape(factor, { 1, 1 })
end

return heads
