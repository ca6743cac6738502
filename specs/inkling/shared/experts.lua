-- Experts of Inkling-2: sigmoid scores with a balance bias, gates and values capped, and a short
-- convolution behind their sum.
local convs = require "shared.conv"

local function matrices(m, site, name, out, k)
  return m:param(site, "experts.*." .. name .. ".weight", { m.options.experts, out, k },
    normal(0.02))
end

local count = { type = "integer", min = 1, required = true }

return sublayer {
  options = {
    experts = count, top = count, hidden = count,
    scale = { type = "number", default = 8 },
    gate_cap = { type = "number", above = 0, default = 4 },
    up_cap = { type = "number", above = 0, default = 25 },
    balance = { type = "number", min = 0, default = 1e-3 },
  },
  forward = function(m, site, x)
    local o, D = m.options, m.dim
    local scores = sigmoid(m:linear(site, "router", x, o.experts))
    local bias = m:buffer(site, "router.balance_bias", { o.experts }, 0)
    local mask = largest(scores + bias, o.top)
    local places = chosen(mask, o.top)
    m:rule(bias, token_sum(mask), function(b, load)
      return b + o.balance * (step(mean(load, 1) - load) - step(load - mean(load, 1)))
    end)
    local w = pick(scores, places)
    w = o.scale * w / (sum(w, 1) + 1e-20)
    local gate = expert_linear(x, matrices(m, site, "gate", o.hidden, D), places)
    local up = expert_linear(x, matrices(m, site, "up", o.hidden, D), places)
    local h = softcap(gate, o.gate_cap) * sigmoid(gate) * softcap(up, o.up_cap)
    local y = expert_linear(h * reshape(w, { o.top, 1 }),
      matrices(m, site, "down", D, o.hidden), places)
    return convs.static(m, site, "out_conv", sum(y, 1))
  end,
}
