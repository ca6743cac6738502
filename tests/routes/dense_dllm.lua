-- 'dllm', dense: all tokens go through the layer, where those that execute are seen, and oneself.
local dense = require "dense"

return route {
  options = dense.with {
    hidden = { type = "integer", required = true }, reserve = { type = "integer", default = 2 },
    target = { type = "number" }, weight = { type = "number" },
  },
  run = function(r, site, x, body)
    local o = r.options
    body(x)                             -- whose result nothing reads
    local h = r:linear(site, "router.hidden", x, o.hidden, true)
    h = h / sqrt(mean(h * h) + r.eps) * r:param(site, "router.norm.weight", { o.hidden }, 1)
    local z = r:linear(site, "router.out", h / (1 + exp(-h)), 2, true)
    local noise = -log(-log(random(2)))
    local p = softmax(z + select(sampling(), noise, noise * 0))
    p = dense.number(slice(p, 1, 2, 1))
    local reserved = dense.first(math.min(o.reserve, r.context), r.context)
    local mask = select(reserved, 1, 1 - greater(0.5, p))
    -- straight through: the value is the mask's, the gradient that of p
    local w = mask + select(sampling(), (1 - reserved) * (p - stop_gradient(p)), 0)
    local y = dense.layer(r, site, x, o, mask)
    return reshape(w, { 1 }) * y + reshape(1 - w, { 1 }) * x, w
  end,
  loss = function(r, layers)
    local o, sum = r.options, r.layers - #layers
    for _, w in ipairs(layers) do sum = sum + w end
    return o.weight and o.weight * token_sum(abs(sum / r.layers - o.target)) * per_token()
  end,
}
