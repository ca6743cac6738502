-- SPDX-License-Identifier: MIT
-- h <- sqrt((n - 1) / n) h + sqrt(1 / n) f, where n counts what has been added, the embedding
-- first (Beam, transformers 5.23): of terms of one size, every sum has that size.
return mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local n = site.index + 2
    return { h = ((n - 1) / n) ^ 0.5 * state.h + (1 / n) ^ 0.5 * out }
  end,
  close = function(m, state, site) return state.h end,
}
