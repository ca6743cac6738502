-- SPDX-License-Identifier: MIT
-- h <- (h + b1) s1 + (f + b2) s2, per channel (ZAYA1, transformers 5.23)
return mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local function scaled(name, x)
      local bias = m:param(site, name .. ".bias", { m.dim }, 0)
      return (x + bias) * m:param(site, name .. ".scale", { m.dim }, 1)
    end
    return { h = scaled("stream", state.h) + scaled("output", out) }
  end,
  close = function(m, state, site) return state.h end,
}
