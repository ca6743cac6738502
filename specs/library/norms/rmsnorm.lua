-- SPDX-License-Identifier: MIT
-- x / sqrt(mean(x^2) + eps), times a gain unless gain = false
return norm {
  options = { eps = { type = "number", min = 0, default = 1e-6 }, gain = true },
  apply = function(m, prefix, x)
    local shape = x:shape()
    local w = m.options.gain and m:param(prefix, "weight", { shape[#shape] }, 1)
    local r = rsqrt(mean(x * x, -1) + m.eps)
    if #shape == 2 then r = reshape(r, { shape[1], 1 }) end
    return w and x * r * w or x * r
  end,
}
