-- SPDX-License-Identifier: MIT
-- h + scale * out, one number a channel, small where the model is deep; init = "residual": 1
return mixer {
  options = {
    init = { any_of = { { type = "number" }, { type = "string", one_of = { "residual" } } } },
  },
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local init = m.options.init or (m.layers <= 18 and 0.1 or m.layers <= 24 and 1e-5 or 1e-6)
    if init == "residual" then init = 1 end
    return { h = state.h + m:param(site, "scale", { m.dim }, init) * out }
  end,
  close = function(m, state, site) return state.h end,
}
