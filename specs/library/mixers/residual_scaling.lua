-- SPDX-License-Identifier: MIT
-- h <- (h + b1) s1 + (f + b2) s2, per channel (ZAYA1, transformers 5.23); embedding = true: it
-- begins with (e + b) s
local function scaled(m, site, name, x)
  local bias = m:param(site, name .. "bias", { m.dim }, 0)
  return (x + bias) * m:param(site, name .. "scale", { m.dim }, 1)
end

return mixer {
  options = { embedding = { type = "boolean", default = false } },
  open = function(m, e)
    return { h = m.options.embedding and scaled(m, "embed.residual", "", e) or e }
  end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    return { h = scaled(m, site, "stream.", state.h) + scaled(m, site, "output.", out) }
  end,
  close = function(m, state, site) return state.h end,
}
