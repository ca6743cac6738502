-- SPDX-License-Identifier: MIT
-- DTRNet (arXiv 2509.00925): a router lets some tokens of a layer attend to each other;
-- the others pass on their value. x is what the attention reads, before its norm:
--   z = W2 silu(W1 x + b1) + b2    p = softmax(z)    a token attends if p_1 > p_2
--   out = p_1 attention, or p_2 times the value through W_O
-- choice = "expert": the share 'capacity' of each sequence with the largest p_1 attends;
-- this looks at later tokens. choice = "skip": no token attends. bypass = "none": tokens
-- that do not attend get 0. bypass = "auto": "none" if the sublayer has no value to pass
-- on, such as one of the user's or a recurrent one, else "vo".  The loss adds
-- route_penalty times the mean p_1 of each layer, weighted by the layer's share of all
-- attending tokens.
local function number(x) return reshape(x, {}) end

return route {
  sublayer = "attention",
  options = {
    choice = { type = "string", one_of = { "token", "expert", "skip" }, default = "token" },
    capacity = { type = "number", above = 0, max = 1 },
    bypass = { type = "string", one_of = { "auto", "vo", "none" }, default = "auto" },
    bias = { type = "boolean", default = true },
  },
  check = function(o)
    if (o.choice == "expert") ~= (o.capacity ~= nil) then
      error("dtr: expected a capacity with choice = 'expert', and only there, found "
        .. (o.capacity and "capacity = " .. o.capacity or "none")
        .. " with choice = '" .. o.choice .. "'")
    end
  end,
  run = function(r, site, x, body)
    local o = r.options
    local h = r:linear(site, "router.hidden", x, math.max(r.dim // 2, 1), o.bias)
    local z = r:linear(site, "router.out", h * sigmoid(h), 2, o.bias)
    local p = softmax(z)
    local attend, pass = number(slice(p, 1, 1, 1)), number(slice(p, 1, 2, 1))
    local mask
    if o.choice == "expert" then
      mask = top(attend, o.capacity)
    elseif o.choice == "token" then
      mask = greater(number(slice(z, 1, 1, 1)), number(slice(z, 1, 2, 1)))
    else
      mask = greater(attend, attend)
    end
    local out = body { rows = rows(mask), mask = mask, bypass = o.bypass }
    local gate = o.bypass == "none" and attend or select(mask, attend, pass)
    return reshape(gate, { 1 }) * out,
      { share = token_sum(attend) * per_token(), tokens = token_sum(mask) }
  end,
  loss = function(r, layers)
    local all, sum = 0, 0
    for _, l in ipairs(layers) do all = all + l.tokens end
    for _, l in ipairs(layers) do sum = sum + l.tokens / max(all, 1) * l.share end
    return r.route_penalty * sum
  end,
}
