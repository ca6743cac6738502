-- SPDX-License-Identifier: MIT
-- (1 - g) h + g out, g = sigmoid(W h + b), one gate per channel or one for all
return mixer {
  options = { gate = { type = "string", one_of = { "vector", "scalar" }, default = "vector" } },
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local size = m.options.gate == "vector" and m.dim or 1
    local z = m:linear(site, "gate", state.h, size) + m:param(site, "gate.bias", { size }, -2)
    local g = sigmoid(z)
    return { h = state.h + g * (out - state.h) }
  end,
  close = function(m, state, site) return state.h end,
}
