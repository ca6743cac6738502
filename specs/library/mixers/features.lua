-- SPDX-License-Identifier: MIT
-- Reads with the kernel 'linear': h = sum w_j v_j / sum w_j, where
-- w_j = phi(q * g) . phi(rms(v_j)) and phi(u) = elu(F u) + 1, one F [rank, D] a model.
local features = {}

local function phi(x)     -- exp is kept from overflowing where it is not used
  return select(x, x + 1, exp(min(x, 60)))
end

local function matrix(m)
  return m:param("residual", "feature.weight", { m.options.rank, m.dim }, normal(0.02))
end

-- phi(q), [rank]
local function of_query(m, q)
  return phi(m.options.query == "input" and linear(q, matrix(m)) or sum(matrix(m) * q, 2))
end

-- phi(rms(v)), [rank]; F is linear, so the scale can come after it
local function of_source(m, v)
  local x = linear(v, matrix(m))
  return phi(m.options.key_norm and x * rsqrt(mean(v * v, 1) + (m.options.eps or m.eps)) or x)
end

-- A bias on the logit is a factor exp(bias) on the weight.
function features.read(m, list, q, bias)
  local N, keys = #list, {}
  for j, v in ipairs(list) do keys[j] = of_source(m, v) end
  local w = sum(stack(keys) * of_query(m, q), 2)
  if bias then w = w * exp(bias) end
  local alpha = N == 1 and softmax(w, 1) or w / sum(w, 1)      -- one source: exactly 1
  return sum(reshape(alpha, { N, 1 }) * stack(list), 1)
end

-- Running sums over completed sources:
--   { outer = sum phi_j v_j^T [rank, D], plain = sum phi_j [rank] }
function features.add(m, sums, v)
  local key = of_source(m, v)
  local outer = reshape(key, { m.options.rank, 1 }) * reshape(v, { 1, m.dim })
  return { outer = sums and sums.outer + outer or outer, plain = sums and sums.plain + key or key }
end

-- The same read from the sums and the newest source, if it is not in them.
function features.read_sums(m, sums, q, newest)
  local phi_q = of_query(m, q)
  local above = sum(reshape(phi_q, { m.options.rank, 1 }) * sums.outer, 1)
  local below = sum(phi_q * sums.plain, 1)
  if newest then
    local w = sum(phi_q * of_source(m, newest), 1)
    above, below = above + w * newest, below + w
  end
  return above / below
end

return features
