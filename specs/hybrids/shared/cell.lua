-- SPDX-License-Identifier: MIT
-- A recurrent cell with the gates of an LSTM, which here do not see the cell's last output, so that
-- all tokens are computed at once:
--   f, i, o = sigmoid(W x + b)   c_t = f c_(t-1) + i tanh(W_z x)   out = W_o (o c)
-- Every channel is a head of the recurrence: its state is one number, its decay is log f, and the
-- other two gates are its key and its query.
return sublayer {
  options = { forget = { type = "number", default = 3 } },  -- the forget gates' bias at first
  forward = function(m, site, x)
    local D = m.dim
    local function gate(name) return sigmoid(m:linear(site, name, x, D, true)) end
    local function channels(y) return reshape(y, { D, 1 }) end
    local open = m:param(site, "forget.bias", { D }, m.options.forget)
    local kept = m:linear(site, "forget", x, D) + open
    local value = tanh(m:linear(site, "value", x, D))
    local c = recurrence(channels(gate "output"), channels(gate "input"), channels(value),
      { decay = channels(-softplus(-kept)) })
    return m:linear(site, "o", reshape(c, { D }), D)
  end,
}
