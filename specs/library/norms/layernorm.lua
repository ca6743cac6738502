-- SPDX-License-Identifier: MIT
-- (x - mean(x)) / sqrt(variance(x) + eps), times a gain, plus a bias
return norm {
  options = { eps = { type = "number", min = 0, default = 1e-5 } },
  apply = function(m, prefix, x)
    local d = x:shape()[1]
    local w, b = m:param(prefix, "weight", { d }, 1), m:param(prefix, "bias", { d }, 0)
    local centered = x - mean(x, 1)
    return centered * rsqrt(mean(centered * centered, 1) + m.eps) * w + b
  end,
}
