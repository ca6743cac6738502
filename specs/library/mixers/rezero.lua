-- SPDX-License-Identifier: MIT
-- h + a out, one number a sublayer, from 0; init = "residual": from 1, a residual stream at first
return mixer {
  options = {
    init = { any_of = { { type = "number" }, { type = "string", one_of = { "residual" } } },
             default = 0 },
  },
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local init = m.options.init
    return { h = state.h + m:param(site, "alpha", { 1 }, init == "residual" and 1 or init) * out }
  end,
  close = function(m, state, site) return state.h end,
}
