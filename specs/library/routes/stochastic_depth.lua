-- SPDX-License-Identifier: MIT
-- Stochastic depth (arXiv 1603.09382): in a training step each sequence takes a layer with
-- probability p, and only these sequences cost work; outside of training all sequences take it.
--   out = x + (layer(x) - x) / p where the sequence takes it, x where not
-- Over layers, p falls linearly to 'keep', that of the last: 1 - (1 - keep) l / L for layer l of L.

-- x of a sequence's first token, for all of its tokens: a state that only that one is added to.
local function of_first(x)
  local one = x * 0 + 1
  local first = one - shift(one, 1)
  local state = recurrence(reshape(one, { 1, 1 }), reshape(first, { 1, 1 }), reshape(x, { 1, 1 }))
  return reshape(state, { 1 })
end

return route {
  options = { keep = { type = "number", above = 0, max = 1, required = true } },
  run = function(r, site, x, body)
    local share = 1 - (1 - r.options.keep) * (site.layer + 1) / r.layers
    local chance = of_first(random(1))
    local taken = select(sampling(), greater(share, chance), 1)
    local list = rows(reshape(taken, {}))
    local part = gather(x, list)
    local scale = select(sampling(), 1 / share, 1)
    return x + scatter(body(part) - part, list) * scale
  end,
}
