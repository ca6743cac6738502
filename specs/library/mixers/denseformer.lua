-- SPDX-License-Identifier: MIT
-- DenseFormer (arXiv 2402.02622): after a layer the stream becomes a weighted
-- sum of the embedding and all layers' results, taken before they were summed.
--   X_i: result of layer i, X_0 = e      h = sum of alpha_j X_j, j = i, i - dilation, ...
local function average(m, state)
  local o, i, X = m.options, #state.X - 1, state.X
  if not state.due then return state.h end
  local alpha, chosen, weights = state.alpha, {}, {}
  for j = i % o.dilation, i, o.dilation do
    chosen[#chosen + 1] = X[j + 1]
    weights[#weights + 1] = slice(alpha, 1, j + 1, 1)
  end
  m:sources(#chosen)
  local w = #weights == i + 1 and alpha or concat(weights, 1)
  return sum(reshape(w, { #chosen, 1 }) * stack(chosen), 1)
end

return mixer {
  options = {
    dilation = { type = "integer", min = 1, default = 1 },
    period = { type = "integer", min = 1, default = 1 },
  },
  open = function(m, e) return { h = e, X = { e } } end,
  read = function(m, state, site)
    local h = average(m, state)
    return h, { h = h, X = state.X }
  end,
  write = function(m, state, site, out)
    local next, X = { h = state.h + out, X = state.X }, state.X
    if not site.last_in_layer then return next end
    X[#X + 1] = next.h
    local layer = site.layer + 1
    if layer % m.options.period ~= 0 then return next end
    local init = {}
    for j = 0, layer do init[j + 1] = j == layer and 1 or 0 end
    next.due = true
    next.alpha = m:param("layers." .. site.layer .. ".residual", "alpha", { layer + 1 }, init)
    return next
  end,
  close = average,
}
