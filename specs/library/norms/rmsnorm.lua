-- SPDX-License-Identifier: MIT
-- x / sqrt(mean(x^2) + eps), times a gain unless gain = false; gain = "before": of x times the gain
return norm {
  options = { eps = { type = "number", min = 0, default = 1e-6 },
              gain = { any_of = { { type = "boolean" },
                { type = "string", one_of = { "before" } } }, default = true } },
  apply = function(m, prefix, x)
    local shape = x:shape()
    local w = m.options.gain and m:param(prefix, "weight", { shape[#shape] }, 1)
    if m.options.gain == "before" then x, w = x * w, nil end
    local r = rsqrt(mean(x * x, -1) + m.eps)
    if #shape == 2 then r = reshape(r, { shape[1], 1 }) end
    return w and x * r * w or x * r
  end,
}
