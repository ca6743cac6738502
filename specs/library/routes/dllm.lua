-- SPDX-License-Identifier: MIT
-- D-LLM (NeurIPS 2024): a router decides token by token whether a layer executes.
--   z = W2 silu(rmsnorm(W1 x + b1)) + b2    a token executes if softmax(z)_2 >= 1/2, or is
--   one of the first 'reserve' of its sequence    out = w layer(x) + (1 - w) x
-- Tokens that do not execute are invisible to others and not cached; they save the layer's work.  A
-- training step draws w by hard Gumbel-softmax (temperature 1) with straight-through gradients,
-- which need the layer of every token: training is dense, with the executing tokens as keys.  The
-- loss adds 'weight' times the mean over tokens of |mean over all layers of w - target|.
local function number(x) return reshape(x, {}) end

-- 1 for the first n positions: sin is monotone below its quarter turn, at a hundred times the
-- context.
local function first_positions(r, n)
  local step = 1 / (64 * r.context)
  return greater(math.sin((n - 0.5) * step), number(wave({ step }, { sine = true })))
end

return route {
  forms = true,
  options = {
    hidden = { type = "integer", min = 1, max = 1 << 20, default = 512 },
    reserve = { type = "integer", min = 0, max = 1 << 20, default = 2 },
    target = { type = "number", min = 0, max = 1 },
    weight = { type = "number", min = 0 },
  },
  check = function(o)
    if (o.target == nil) ~= (o.weight == nil) then
      error("dllm: expected target and weight together, found "
        .. (o.target and "target" or "weight") .. " alone")
    end
  end,
  run = function(r, site, x, body)
    local o = r.options
    local h = r:linear(site, "router.hidden", x, o.hidden, true)
    h = h * rsqrt(mean(h * h) + r.eps) * r:param(site, "router.norm.weight", { o.hidden }, 1)
    h = h * sigmoid(h)
    local z = linear(h, r:param(site, "router.out.weight", { 2, o.hidden }, normal(0.02)))
      + r:param(site, "router.out.bias", { 2 }, { 0.1, 2.0 })
    z = z - log(-log(random(2))) * sampling()
    local skip, execute = number(slice(z, 1, 1, 1)), number(slice(z, 1, 2, 1))
    local soft = sigmoid(execute - skip)
    local kept = o.reserve > 0 and first_positions(r, math.min(o.reserve, r.context)) or 0
    local mask = max(kept, 1 - greater(skip, execute))
    local list = rows(mask)
    local part = gather(x, list)
    local packed = x + scatter(body(part) - part, list)
    local w = mask + (1 - kept) * sampling() * (soft - stop_gradient(soft))
    local dense = x + reshape(w, { 1 }) * (body(x, { keys = list, mask = mask }) - x)
    return select(training(), dense, packed), { w = w, target = o.target, weight = o.weight }
  end,
  loss = function(r, layers)
    local o, sum = layers[1], r.layers - #layers
    for _, l in ipairs(layers) do
      if l.target ~= o.target or l.weight ~= o.weight then
        error(("dllm: expected one target and weight in all layers, "
          .. "found %s and %s in one, %s and %s in another"):format(
          tostring(o.target), tostring(o.weight), tostring(l.target), tostring(l.weight)))
      end
      sum = sum + l.w
    end
    if not o.target then return nil end
    return o.weight * token_sum(abs(sum / r.layers - o.target)) * per_token()
  end,
}
