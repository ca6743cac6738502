-- SPDX-License-Identifier: MIT
-- The four-stream residual of recent Qwen models: every stream is normalised and gated channel by
-- channel, and a sublayer's output is added to each stream with a factor of its own.  The sublayers
-- have no norms of their own.
--   Xn_i = rms(X_i) * (1 + norm_i)   v = vec(Xn) / n   g = sigmoid(W_up silu(W_down v))
--   read  h = mean of g_i * Xn_i            write  X'_i = X_i + 2 sigmoid(W_inject v)_i out
-- init = "residual": sublayers have their norms, and W_up and W_inject start at 0: h is half a
-- normed residual stream, which the next norm makes equal to the stream.
local streams = require "streams"

-- The initial value of matrices that gate; nil: the usual one.
local function first(m) return m.options.init == "residual" and 0 or nil end

local function gated(m, state, site)
  local n, D, X = m.options.streams, m.dim, state.X
  m:sources(n)
  local r = reshape(rsqrt(mean(X * X, 2) + m.eps), { n, 1 })
  local Xn = X * r * (1 + m:param(site, "norm.weight", { n, D }, 0))
  local v = reshape(Xn, { n * D }) / n
  local down = m:linear(site, "gate_down", v, m.options.rank)
  local g = sigmoid(m:linear(site, "gate_up", down * sigmoid(down), n * D, false, first(m)))
  return mean(reshape(g, { n, D }) * Xn, 1), v
end

return mixer {
  options = { streams = streams.option, rank = { type = "integer", min = 1, required = true },
              init = { type = "string", one_of = { "residual" } } },
  prenorm = function(m) return m.options.init == "residual" end,
  open = streams.open,
  read = function(m, state, site)
    local h, v = gated(m, state, site)
    local z = m:linear(site, "inject", v, m.options.streams, false, first(m))
    return h, { X = state.X, beta = 2 * sigmoid(z) }
  end,
  write = function(m, state, site, out)
    local beta = reshape(state.beta, { m.options.streams, 1 })
    return { X = state.X + beta * reshape(out, { 1, m.dim }) }
  end,
  close = function(m, state, site) return (gated(m, state, site)) end,
}
