-- swiglu: down(silu(gate x) * up x); the others: down(act(up x))
local function silu(x) return x * sigmoid(x) end

local activation = {
  silu = silu,
  relu = relu,
  gelu = function(x) return x * 0.5 * (1 + erf(x * 0.5 ^ 0.5)) end,
  gelu_tanh = function(x)
    return x * 0.5 * (1 + tanh((2 / math.pi) ^ 0.5 * (x + 0.044715 * x * x * x)))
  end,
  relu2 = function(x)
    local y = relu(x)
    return y * y
  end,
}

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
