-- 'dtr', dense: mask = causal and (i = j or both attend), then W_O, then the gate.
local dense = require "dense"
local number = dense.number

return route {
  sublayer = "attention",
  options = dense.with {
    choice = { type = "string", default = "token" }, capacity = { type = "number" },
    bypass = { type = "string", default = "vo" }, bias = { type = "boolean", default = true },
  },
  run = function(r, site, x, body)
    local o = r.options
    body {}                             -- whose result nothing reads
    local h = r:linear(site, "router.hidden", x, r.dim // 2, o.bias)
    local z = r:linear(site, "router.out", h / (1 + exp(-h)), 2, o.bias)
    local a, b = exp(number(slice(z, 1, 1, 1))), exp(number(slice(z, 1, 2, 1)))
    local p_a, p_b = a / (a + b), b / (a + b)
    local mask = stop_gradient(p_a) * 0
    if o.choice == "token" then mask = greater(p_a, p_b) end
    if o.choice == "expert" then mask = top(p_a, o.capacity) end
    local u = dense.attention(r, site, dense.norm(r, site, "attention", x), o, mask, true)
    local gate = p_a * mask + (o.bypass == "vo" and p_b * (1 - mask) or 0)
    return reshape(gate, { 1 }) * u, { p = token_sum(p_a) * per_token(), k = token_sum(mask) }
  end,
  loss = function(r, layers)
    local all, sum = 0, 0
    for _, l in ipairs(layers) do all = all + l.k end
    for _, l in ipairs(layers) do sum = sum + select(all, l.k / all, 0) * l.p end
    return r.route_penalty * sum
  end,
}
