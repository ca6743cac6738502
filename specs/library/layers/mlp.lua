-- SPDX-License-Identifier: MIT
-- Gated activations (activations.lua): down(act(gate x) * up x).  Others: down(act(up x)).
-- limit = c, for gated ones: gate x is limited to at most c, up x to -c ... c.
local plain, gated = activations.plain, activations.gated

return sublayer {
  options = {
    hidden = { type = "integer", min = 1, max = (1 << 31) - 1, required = true },
    activation = { type = "string", default = "swiglu", one_of = activations.names },
    bias = { type = "boolean", default = false },
    limit = { type = "number", above = 0 },
  },
  check = function(o)
    if o.limit and not gated[o.activation] then
      error("mlp: expected a limit with a gated activation only, found '" .. o.activation .. "'")
    end
  end,
  forward = function(m, site, x)
    local o, h = m.options, nil
    local gate = gated[o.activation]
    if gate then
      h = m:linear(site, "gate", x, o.hidden, o.bias)
      h = gate(o.limit and min(h, o.limit) or h)
      local up = m:linear(site, "up", x, o.hidden, o.bias)
      h = h * (o.limit and min(max(up, -o.limit), o.limit) or up)
    else
      h = plain[o.activation](m:linear(site, "up", x, o.hidden, o.bias))
    end
    return m:linear(site, "down", h, m.dim, o.bias)
  end,
}
