-- 'mod', dense: all tokens go through the layer, where only those that are selected are seen.
local dense = require "dense"

return route {
  options = dense.with { capacity = { type = "number", required = true }, gate = { type = "string", default = "raw" } },
  run = function(r, site, x, body)
    body(x)                             -- whose result nothing reads
    local s = linear(x, r:param(site, "router.weight", { 1, r.dim }, normal(0.02)))
    local guess = dense.number(linear(stop_gradient(x), r:param(site, "predictor.weight", { 1, r.dim }, normal(0.02)))
      + r:param(site, "predictor.bias", { 1 }, 0))
    local chosen = top(dense.number(s), r.options.capacity)
    local mask = select(generating(), greater(guess, 0), chosen)
    local gate = r.options.gate == "raw" and s or 1 / (1 + exp(-s))
    local p = 1 / (1 + exp(-guess))
    local out = x + gate * reshape(mask, { 1 }) * (dense.layer(r, site, x, r.options, mask) - x)
    return out, -(chosen * log(p) + (1 - chosen) * log(1 - p))
  end,
  loss = function(_, layers)
    local sum = 0
    for _, l in ipairs(layers) do sum = sum + token_sum(l) * per_token() / #layers end
    return sum
  end,
}
