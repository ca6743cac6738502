-- SPDX-License-Identifier: MIT
-- Shared by mixers of several streams.  The state is { X = [n, D] }: the streams.
local streams = {}

streams.option = { type = "integer", min = 1, max = 256, required = true }

function streams.open(m, e)
  local copies = {}
  for i = 1, m.options.streams do copies[i] = e end
  return { X = stack(copies) }
end

-- sum of weight_i X_i, [D], from weights [n]
function streams.read(m, weight, X)
  m:sources(m.options.streams)
  return sum(reshape(weight, { m.options.streams, 1 }) * X, 1)
end

-- X'_j = sum of mix[j,i] X_i + weight_j out
function streams.write(m, mix, weight, X, out)
  local n, D = m.options.streams, m.dim
  local mixed = sum(reshape(mix, { n, n, 1 }) * reshape(X, { 1, n, D }), 2)
  return mixed + reshape(weight, { n, 1 }) * reshape(out, { 1, D })
end

-- vec(X) W^T / rms(vec(X)) of a parameter W [count, n D]; what it is made of comes out as it is
-- while W is 0.
function streams.project(m, site, X, count)
  local size = m.options.streams * m.dim
  local z = reshape(X, { size })
  return linear(z, m:param(site, "proj.weight", { count, size }, 0))
    * rsqrt(mean(z * z, 1) + m.eps)
end

-- x + eps, with no operation for an eps of 0
function streams.plus(x, eps) return eps == 0 and x or x + eps end

-- sum of a_i X_i, a = sigmoid(alpha p + bias) + eps: a learned end of the streams, at first nearly
-- their mean.
function streams.collapse(m, site, X)
  local n = m.options.streams
  local start = n > 1 and -math.log(n - 1) or 4
  local p = streams.project(m, site, X, n) * m:param(site, "alpha", { 1 }, 0.01)
  local a = sigmoid(p + m:param(site, "bias", { n }, start))
  return streams.read(m, streams.plus(a, m.options.eps), X)
end

-- A list of n numbers, 'other' but for 'one' at place s mod n (from 0).
function streams.at(n, s, one, other)
  local list = {}
  for i = 1, n do list[i] = i - 1 == s % n and one or other end
  return list
end

return streams
