-- SPDX-License-Identifier: MIT
-- The parts of a mixer that attends to memories over time.
local memory = {}

-- (x - mean) / sqrt(variance + 1e-5), times a gain, plus a bias: as in the listing, whatever the
-- model's norm
function memory.layernorm(m, prefix, x)
  local c = x - mean(x, 1)
  local w, b = m:param(prefix, "weight", { m.dim }, 1), m:param(prefix, "bias", { m.dim }, 0)
  return c * rsqrt(mean(c * c, 1) + 1e-5) * w + b
end

-- Shares of three things, [3]: softmax(W2 gelu(W1 layernorm(x))); at first mostly the first.
function memory.router(m, prefix, x)
  local wide = m.options.hidden_mult * m.dim
  local u = m:linear(prefix, "hidden", memory.layernorm(m, prefix .. ".norm", x), wide, true)
  u = linear(0.5 * u * (1 + erf(u * 0.5 ^ 0.5)), m:param(prefix, "out.weight", { 3, wide }, 0))
  return softmax(u + m:param(prefix, "out.bias", { 3 }, { 2, 0, -0.5 }), 1)
end

-- One attention of x [D] over all positions of all tensors [D] in a list: one attention each, which
-- their log-sum-exps z merge to  sum of softmax(z)_i y_i.  'how' is said of each, as for attention.
-- What it returns is 0 at first where the stream begins as a residual one.
function memory.attend(m, prefix, x, list, how)
  local H, d, y, z = m.options.heads, m.dim // m.options.heads, {}, {}
  local function heads(name, v) return reshape(m:linear(prefix, name, v, m.dim), { H, d }) end
  -- a learned query is the same for every token: 0 x gives it tokens
  local q = m.options.query == "input" and heads("q", x)
    or reshape(m:param(prefix, "query", { m.dim }, 0) + 0 * stop_gradient(x), { H, d })
  for i, X in ipairs(list) do
    local k, v = heads("k", X), heads("v", X)
    y[i], z[i] = attention(q, k, v, how), attention_lse(q, k, v, how)
  end
  local merged = sum(reshape(softmax(stack(z), 1), { #y, H, 1 }) * stack(y), 1)
  local init = m.options.init == "residual" and 0 or nil
  return m:linear(prefix, "o", reshape(merged, { m.dim }), m.dim, false, init)
end

return memory
