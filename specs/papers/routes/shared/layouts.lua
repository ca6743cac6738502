-- SPDX-License-Identifier: MIT
-- Which layers of L are routed (0-based), as in DTRNet (arXiv 2509.00925) and Mixture-of-Depths.
-- The papers do not agree on the last layer: 'dense_last' keeps it dense.
local names = { "dense", "bilayer", "trilayer", "later_half", "six", "after_two" }
local chosen = {
  dense = function(i, n) return false end,
  bilayer = function(i, n) return i % 2 == 1 end,
  trilayer = function(i, n) return i % 3 ~= 0 end,
  later_half = function(i, n) return i >= n // 2 end,
  six = function(i, n) return i > 1 and i < n - 2 and i ~= n // 2 - 1 and i ~= n // 2 end,
  after_two = function(i, n) return i > 1 end,
}

-- n layers of the sublayers that 'parts' makes, with 'route' where the layout says so.
return function(layout, n, parts, route, dense_last)
  local is = chosen[layout]
  if not is then
    error("layouts: expected " .. table.concat(names, ", ") .. ", found '" .. tostring(layout)
      .. "'")
  end
  local layers = {}
  for i = 0, n - 1 do
    local routed = route and is(i, n) and not (dense_last and i == n - 1)
    local l = parts()
    if routed then l.route = route end
    layers[#layers + 1] = layer(l)
  end
  return layers
end
