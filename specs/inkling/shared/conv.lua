-- The short convolutions of Inkling-2: what goes in is added to what comes out, and the sum is
-- scaled so that its size stays.
local convs = {}
local taps = 4

-- x [tokens,C], one filter for each channel.
function convs.static(m, site, name, x)
  local w = m:param(site, name .. ".weight", { x:shape()[1], taps }, normal(0.02))
  return (conv(x, w) + x) * (taps + 1) ^ -0.5
end

-- The same with filters that each token adds for itself, one a group of channels; 'from' [tokens,D]
-- says which.
function convs.dynamic(m, site, name, x, groups, from)
  local w = m:param(site, name .. ".weight", { x:shape()[1], taps }, normal(0.02))
  local own = reshape(m:linear(site, name .. ".taps", from, groups * taps), { groups, taps })
  return (conv(x, w) + conv(x, own) + x) * (2 * taps + 1) ^ -0.5
end

return convs
