-- SPDX-License-Identifier: MIT
-- Manifold-constrained hyper-connections (arXiv 2512.24880; lite: 2601.05732):
-- n streams whose mixing matrix M is doubly stochastic, so that their mean is kept.
--   m = r (vec(X) proj^T), r = rsqrt(mean(vec(X)^2) + eps); every part is alpha * m + bias
--   a = sigmoid(m_a)   w = 2 sigmoid(m_w)
--   M: exp(m_M), rows and columns divided by their sums in turn
--   read  h = sum a_i X_i            write  X'_i = sum M_ij X_j + w_i out            close  mean
-- lite: M = sum over permutations p of softmax(m_M)_p P_p
-- start = "softmax", as DeepSeek-V4 and GLM have it: M^T is softmax of the rows of m_M, + eps, its
-- columns divided by their sums, then iterations - 1 times rows and columns; eps is added to all
-- sums and to a.  head = "learned": the close is a read of its own, sigmoid + eps, not the mean.
-- init = "residual": at first all streams are written to alike, so that each is a residual stream.
local streams, permutations = require "streams", require "permutations"

local function initial_bias(n, s, lite, alike)
  local bias, a = streams.at(n, s, 1, -1), streams.at(n, s, alike and 0 or 1, alike and 0 or -1)
  for i = 1, n do bias[n + i] = a[i] end
  local count = lite and permutations.count(n) or n * n
  for k = 0, count - 1 do
    local same = lite and k == 0 or not lite and k // n == k % n
    bias[2 * n + k + 1] = same and 0 or -8
  end
  return bias, count
end

local function balanced(m, R, n)
  local o = m.options
  if o.start == "exp" then
    return sinkhorn(exp(R - reshape(peak(R, 2), { n, 1 })), o.iterations, { eps = o.eps })
  end
  local M = streams.plus(softmax(R, 2), o.eps)
  M = M / reshape(streams.plus(sum(M, 1), o.eps), { 1, n })
  if o.iterations > 1 then M = sinkhorn(M, o.iterations - 1, { eps = o.eps }) end
  return transpose(M, { 2, 1 })
end

local function weights(m, site, X)
  local n, lite = m.options.streams, m.options.lite
  local init, count = initial_bias(n, site.index, lite, m.options.init == "residual")
  local z = reshape(X, { n * m.dim })
  local proj = m:param(site, "proj.weight", { 2 * n + count, n * m.dim }, 0)
  local p = linear(z, proj) * rsqrt(mean(z * z, 1) + m.eps)
  local alpha = m:param(site, "alpha", { 3 }, 0.01)
  local bias = m:param(site, "bias", { 2 * n + count }, init)
  local function part(k, first, size)
    return slice(alpha, 1, k, 1) * slice(p, 1, first + 1, size) + slice(bias, 1, first + 1, size)
  end
  local R = part(3, 2 * n, count)
  local M = lite and permutations.mix(softmax(R, 1), n) or balanced(m, reshape(R, { n, n }), n)
  return streams.plus(sigmoid(part(1, 0, n)), m.options.eps), M, 2 * sigmoid(part(2, n, n))
end

return mixer {
  options = { streams = streams.option,
              iterations = { type = "integer", min = 1, max = 1000, default = 20 },
              lite = { type = "boolean", default = false },
              eps = { type = "number", min = 0, max = 1, default = 0 },
              start = { type = "string", one_of = { "exp", "softmax" }, default = "exp" },
              head = { type = "string", one_of = { "mean", "learned" }, default = "mean" },
              init = { type = "string", one_of = { "residual" } } },
  check = function(o)
    if o.lite and o.start ~= "exp" then
      error("mhc: expected no start with lite, which has no iterations, found '" .. o.start .. "'")
    end
    if o.lite and o.streams > 5 then
      error("mhc: expected at most 5 streams with lite, which has streams! weights, found "
        .. o.streams)
    end
  end,
  open = streams.open,
  read = function(m, state, site)
    local a, M, w = weights(m, site, state.X)
    return streams.read(m, a, state.X), { X = state.X, mix = M, w = w }
  end,
  write = function(m, state, site, out)
    return { X = streams.write(m, state.mix, state.w, state.X, out) }
  end,
  close = function(m, state, site)
    if m.options.head == "mean" then return mean(state.X, 1) end
    return streams.collapse(m, site, state.X)
  end,
}
