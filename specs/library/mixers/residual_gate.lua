-- SPDX-License-Identifier: MIT
-- h <- alpha h + beta f, per channel (the residual gate of Muse Spark, transformers 5.23):
--   beta = sigmoid(g / t)        alpha = sqrt(max(sigmoid(-g / t) (1 + beta), eps))
-- init = "residual": beta of sublayer s starts at (s + 2)^-1/2, so that h has the embedding and all
-- outputs with equal weights, which a norm makes equal to their sum.
local function initial(m, site)
  if m.options.init ~= "residual" then return normal(0.02) end
  return -m.options.temperature * math.log((site.index + 2) ^ 0.5 - 1)
end

return mixer {
  options = {
    temperature = { type = "number", above = 0, default = 0.3 },
    eps = { type = "number", min = 0, default = 1e-3 },
    init = { type = "string", one_of = { "residual" } },
  },
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local g = m:param(site, "gate", { m.dim }, initial(m, site)) / m.options.temperature
    local beta = sigmoid(g)
    local alpha = sqrt(max(sigmoid(-g) * (1 + beta), m.options.eps))
    return { h = alpha * state.h + beta * out }
  end,
  close = function(m, state, site) return state.h end,
}
