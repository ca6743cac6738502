-- SPDX-License-Identifier: MIT
-- Hyper-Connections (arXiv 2409.19606): n streams; a sublayer reads a weighted
-- sum, and writes to all while they mix.  With dynamic = true the weights also
-- depend on the streams:
--   Y = rms(X) * norm
--   a = a0 + s_r tanh(Y w_a)    A = A0 + s_r tanh(Y W_A)    b = b0 + s_w tanh(Y w_b)
--   read  h = sum a_i X_i                write  X'_j = sum A_ij X_i + b_j out
-- mix = false, as Hy-V4 has it: streams do not mix.  With p = vec(X) proj^T / rms(vec(X)),
--   a = sigmoid(alpha_1 p_a + bias_a) + eps   b = magnitude sigmoid(alpha_2 p_b + bias_b) + eps
--   read  h = sum a_i X_i        write  X'_i = X_i + b_i out        close  a read of its own
local streams = require "streams"

local function independent(m, site, X)
  local o, n = m.options, m.options.streams
  local first = streams.at(n, site.index, 1, -1)
  for i = n + 1, 2 * n do first[i] = 0 end
  local bias = m:param(site, "bias", { 2 * n }, first)
  local alpha = m:param(site, "alpha", { 2 }, 0.01)
  local p = streams.project(m, site, X, 2 * n)
  local function part(k)
    return sigmoid(slice(alpha, 1, k, 1) * slice(p, 1, (k - 1) * n + 1, n)
      + slice(bias, 1, (k - 1) * n + 1, n))
  end
  return streams.plus(part(1), o.eps), streams.plus(o.magnitude * part(2), o.eps)
end

local function identity(n)
  local list = {}
  for i = 0, n * n - 1 do list[i + 1] = i // n == i % n and 1 or 0 end
  return list
end

local function weights(m, site, X)
  local n, D = m.options.streams, m.dim
  local a = m:param(site, "read", { n }, streams.at(n, site.index, 1, 0))
  local A = m:param(site, "mix", { n, n }, identity(n))
  local b = m:param(site, "write", { n }, 1)
  if not m.options.dynamic then return a, A, b end
  local r = reshape(rsqrt(mean(X * X, 2) + m.eps), { n, 1 })
  local Y = X * r * m:param(site, "norm.weight", { D }, 1)
  local read = m:param(site, "scale_read", { 1 }, 0.01)
  local write = m:param(site, "scale_write", { 1 }, 0.01)
  local columns = transpose(m:param(site, "dynamic_mix", { D, n }, 0), { 2, 1 })
  a = a + read * tanh(sum(Y * m:param(site, "dynamic_read", { D }, 0), 2))
  A = A + read * tanh(sum(reshape(Y, { n, 1, D }) * reshape(columns, { 1, n, D }), 3))
  return a, A, b + write * tanh(sum(Y * m:param(site, "dynamic_write", { D }, 0), 2))
end

return mixer {
  options = { streams = streams.option, dynamic = { type = "boolean", default = true },
              mix = { type = "boolean", default = true },
              magnitude = { type = "number", above = 0, default = 2 },
              eps = { type = "number", min = 0, max = 1, default = 0 } },
  check = function(o)
    if not o.mix and not o.dynamic then
      error("hyper: expected dynamic = true with mix = false, found false")
    end
  end,
  open = streams.open,
  read = function(m, state, site)
    if not m.options.mix then
      local a, b = independent(m, site, state.X)
      return streams.read(m, a, state.X), { X = state.X, b = b }
    end
    local a, A, b = weights(m, site, state.X)
    return streams.read(m, a, state.X), { X = state.X, mix = transpose(A, { 2, 1 }), b = b }
  end,
  write = function(m, state, site, out)
    if not m.options.mix then
      local b = reshape(state.b, { m.options.streams, 1 })
      return { X = state.X + b * reshape(out, { 1, m.dim }) }
    end
    return { X = streams.write(m, state.mix, state.b, state.X, out) }
  end,
  close = function(m, state, site)
    if not m.options.mix then return streams.collapse(m, site, state.X) end
    return sum(state.X, 1)
  end,
}
