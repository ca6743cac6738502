-- SPDX-License-Identifier: MIT
-- h + out: the residual stream of PreNorm transformers
return mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out) return { h = state.h + out } end,
  close = function(m, state, site) return state.h end,
}
