-- SPDX-License-Identifier: MIT
-- h + a out, one number a sublayer, from 0
return mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    return { h = state.h + m:param(site, "alpha", { 1 }, 0) * out }
  end,
  close = function(m, state, site) return state.h end,
}
