-- SPDX-License-Identifier: MIT
-- What sublayers share whose past is one state a head: see recurrence in ops.md.
local recurrent = {}

recurrent.count = { type = "integer", min = 1, max = 1 << 20 }

-- log(1 + e^x): halves of x and |x|, so that neither end overflows and the slope at 0 is 1/2.
function recurrent.softplus(x)
  return 0.5 * (x + abs(x)) + log(1 + exp(-abs(x)))
end

-- The x that log(1 + e^x) is y of.
function recurrent.softplus_inverse(y) return y + math.log(1 - math.exp(-y)) end

function recurrent.silu(x) return x * sigmoid(x) end

-- x [tokens, heads, d] / sqrt(sum of squares + 1e-6), of each head
function recurrent.unit(x)
  local heads = x:shape()[1]
  return x * reshape(rsqrt(sum(x * x, 2) + 1e-6), { heads, 1 })
end

-- RMSNorm over each head, whatever the model's norm, with a gain that heads share: [heads, d]
function recurrent.head_norm(m, site, name, x)
  local heads, d = x:shape()[1], x:shape()[2]
  local r = reshape(rsqrt(mean(x * x, 2) + m.eps), { heads, 1 })
  return x * r * m:param(site, name .. ".weight", { d }, 1)
end

-- silu of x [tokens, width], convolved over time, each channel with 'taps' of its own, the last of
-- which is the token's; 0 taps: silu of x.
function recurrent.short_conv(m, site, name, x, taps)
  if taps == 0 then return recurrent.silu(x) end
  return recurrent.silu(conv(x, m:param(site, name .. ".weight", { x:shape()[1], taps },
    normal(0.02))))
end

-- x [tokens, width] and its convolution over time, each channel with 'taps' of its own, scaled so
-- that the size of x stays (Inkling-2, transformers 5.23).
function recurrent.residual_conv(m, site, name, x, taps)
  local w = m:param(site, name .. ".weight", { x:shape()[1], taps }, normal(0.02))
  return (conv(x, w) + x) * (taps + 1) ^ -0.5
end

-- The same with taps that each token adds for itself, one set a group of channels; 'from' [D] says
-- which.
function recurrent.dynamic_conv(m, site, name, x, taps, groups, from)
  local w = m:param(site, name .. ".weight", { x:shape()[1], taps }, normal(0.02))
  local own = reshape(m:linear(site, name .. ".taps", from, groups * taps), { groups, taps })
  return (conv(x, w) + conv(x, own) + x) * (2 * taps + 1) ^ -0.5
end

-- PREFIX.name.weight of two products, through 'rank' numbers: [out, rank] and [rank, D].
function recurrent.through(m, site, name, x, rank, out)
  return m:linear(site, name .. "_up", m:linear(site, name .. "_down", x, rank), out)
end

-- -e^log softplus(f): the exponent of a decay for f [heads] or [heads, d]; 'log' one number a head,
-- that of something from 1 to 16.  With a floor, floor sigmoid(e^log f).
function recurrent.decay(m, site, f, floor)
  local heads, each = f:shape()[1], f:shape()[2]
  local log_rate = m:param(site, "decay_log", { heads }, uniform(1, 16, math.log))
  local rate = exp(log_rate)
  if each then rate = reshape(rate, { heads, 1 }) end
  if floor then return floor * sigmoid(rate * f) end
  return -rate * recurrent.softplus(f)
end

-- What starts decays: softplus of it is from 0.001 to 0.1, evenly in its logarithm.
function recurrent.decay_bias(m, site, width)
  return m:param(site, "decay_bias", { width }, uniform(math.log(0.001), math.log(0.1),
    function(u) return recurrent.softplus_inverse(math.exp(u)) end))
end

return recurrent
