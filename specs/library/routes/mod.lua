-- SPDX-License-Identifier: MIT
-- Mixture-of-Depths (arXiv 2404.02258): the share 'capacity' of each sequence's tokens with the
-- largest s = w x goes through the layer; these tokens see only each other:
--   out = x + g (layer(x) - x), g = s or sigmoid(s); the others pass unchanged
-- The choice looks at later tokens.  Token by token, a predictor decides (above 0: the token goes).
-- It is trained on x against the choice (mean binary cross entropy, averaged over the layers).
local function number(x) return reshape(x, {}) end

return route {
  options = {
    capacity = { type = "number", above = 0, max = 1, required = true },
    gate = { type = "string", one_of = { "raw", "sigmoid" }, default = "raw" },
  },
  run = function(r, site, x, body)
    local s = number(r:linear(site, "router", x, 1))
    local guess = number(r:linear(site, "predictor", stop_gradient(x), 1, true))
    local chosen = top(s, r.options.capacity)
    local list = rows(select(generating(), step(guess), chosen))
    local part = gather(x, list)
    local gate = r.options.gate == "raw" and s or sigmoid(s)
    local out = x + reshape(gate, { 1 }) * scatter(body(part) - part, list)
    return out, relu(guess) - guess * chosen + log(1 + exp(-abs(guess)))
  end,
  loss = function(r, layers)
    local sum = 0
    for _, l in ipairs(layers) do sum = sum + token_sum(l) * per_token() end
    return sum / #layers
  end,
}
