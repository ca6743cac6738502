-- SPDX-License-Identifier: MIT
-- The residual stream, outputs weighed by a number.
return mixer {
  options = { share = 0.5 },
  open = function(_, e) return { h = e } end,
  read = function(_, state) return state.h end,
  write = function(m, state, _, out) return { h = state.h + m.options.share * out } end,
  close = function(_, state) return state.h end,
}
