-- SPDX-License-Identifier: MIT
-- Gated (arXiv 2002.05202): down(act(gate x) * up x), swiglu with silu, geglu with gelu, geglu_tanh
-- with gelu_tanh, reglu with relu.  Others: down(act(up x)). limit = c, for gated ones: gate x is
-- limited to at most c, up x to -c ... c.
local activation = { silu = silu, relu = relu, gelu = gelu, gelu_tanh = gelu_tanh, relu2 = relu2 }
local gated = { swiglu = silu, geglu = gelu, geglu_tanh = gelu_tanh, reglu = relu }

return sublayer {
  options = {
    hidden = { type = "integer", min = 1, max = (1 << 31) - 1, required = true },
    activation = {
      type = "string", default = "swiglu",
      one_of = { "swiglu", "geglu", "geglu_tanh", "reglu", "gelu", "gelu_tanh", "relu", "relu2",
        "silu" },
    },
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
      h = activation[o.activation](m:linear(site, "up", x, o.hidden, o.bias))
    end
    return m:linear(site, "down", h, m.dim, o.bias)
  end,
}
