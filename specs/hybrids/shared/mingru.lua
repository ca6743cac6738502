-- SPDX-License-Identifier: MIT
-- A gated unit whose gate does not see its last output (minGRU, Feng and others 2024):
--   z = sigmoid(W_z x + b)   h_t = (1 - z) h_(t-1) + z W_h x   out = W_o h
-- Every channel is a head whose state is one number; all share a key and a query of 1.
return sublayer {
  options = { inner = { type = "integer", min = 1 } },  -- channels; as many as the model's, if nil
  forward = function(m, site, x)
    local inner = m.options.inner or m.dim
    local gate = m:linear(site, "gate", x, inner, true)
    local new = sigmoid(gate) * m:linear(site, "hidden", x, inner)
    local one = reshape(stack { 1 }, { 1, 1 })
    local h = recurrence(one, one, reshape(new, { inner, 1 }),
      { decay = -softplus(gate) })
    return m:linear(site, "o", reshape(h, { inner }), m.dim)
  end,
}
