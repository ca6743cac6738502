-- swiglu: down(silu(gate x) * up x); the others: down(act(up x))
local activation = { silu = silu, relu = relu, gelu = gelu, gelu_tanh = gelu_tanh, relu2 = relu2 }

return sublayer {
  options = {
    hidden = { type = "integer", min = 1, max = (1 << 31) - 1, required = true },
    activation = {
      type = "string", default = "swiglu",
      one_of = { "swiglu", "gelu", "gelu_tanh", "relu", "relu2", "silu" },
    },
    bias = { type = "boolean", default = false },
  },
  forward = function(m, site, x)
    local o, h = m.options, nil
    if o.activation == "swiglu" then
      h = silu(m:linear(site, "gate", x, o.hidden, o.bias))
        * m:linear(site, "up", x, o.hidden, o.bias)
    else
      h = activation[o.activation](m:linear(site, "up", x, o.hidden, o.bias))
    end
    return m:linear(site, "down", h, m.dim, o.bias)
  end,
}
