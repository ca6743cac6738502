-- SPDX-License-Identifier: MIT
-- (1 - g) h + g out, g = sigmoid(W h + b), one gate per channel or one for all
-- init = "residual": at first g = 1 / (s + 2) in sublayer s, so that h is the mean of the embedding
-- and all outputs, which a norm makes equal to their sum.
return mixer {
  options = { gate = { type = "string", one_of = { "vector", "scalar" }, default = "vector" },
              init = { type = "string", one_of = { "residual" } } },
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local size = m.options.gate == "vector" and m.dim or 1
    local residual = m.options.init == "residual"
    local z = m:linear(site, "gate", state.h, size, false, residual and 0 or nil)
    local b = m:param(site, "gate.bias", { size }, residual and -math.log(site.index + 1) or -2)
    local g = sigmoid(z + b)
    return { h = state.h + g * (out - state.h) }
  end,
  close = function(m, state, site) return state.h end,
}
