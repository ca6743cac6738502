-- SPDX-License-Identifier: MIT
-- Mamba's selective state space (Gu and Dao 2023): of each of the inner channels u a state of N
-- numbers, with keys B and queries C that all channels share, and steps dt of its own:
--   h_t = e^(dt A) h_(t-1) + dt u B   y = C h + D u   out = W_o (y silu(gate))
local function silu(x) return x * sigmoid(x) end

return sublayer {
  options = {
    inner = { type = "integer", min = 1 },  -- channels; twice the model's, if nil
    state = { type = "integer", min = 1, default = 16 },
    rank = { type = "integer", min = 1 },   -- numbers that steps come through; a 16th, if nil
    conv = { type = "integer", min = 1, default = 4 },
  },
  forward = function(m, site, x)
    local o, N = m.options, m.options.state
    local inner, rank = o.inner or 2 * m.dim, o.rank or math.max(1, m.dim // 16)
    local u = m:linear(site, "in", x, inner)
    u = silu(conv(u, m:param(site, "conv.weight", { inner, o.conv }, normal(0.02))))
    -- steps are from 0.001 to 0.1 at first, evenly in their logarithm
    local start = uniform(math.log(0.001), math.log(0.1), function(y)
      return math.exp(y) + math.log(1 - math.exp(-math.exp(y)))
    end)
    local dt = m:linear(site, "dt_up", m:linear(site, "dt_down", u, rank), inner)
    dt = softplus(dt + m:param(site, "dt.bias", { inner }, start))
    local log = {}
    for i = 1, inner * N do log[i] = math.log((i - 1) % N + 1) end
    local A = -exp(m:param(site, "A_log", { inner, N }, log))
    local function shared(name) return reshape(m:linear(site, name, u, N), { 1, N }) end
    local y = recurrence(shared "C", shared "B", reshape(dt * u, { inner, 1 }),
      { decay = reshape(dt, { inner, 1 }) * A })
    y = reshape(y, { inner }) + u * m:param(site, "D", { inner }, 1)
    return m:linear(site, "o", y * silu(m:linear(site, "gate", x, inner)), m.dim)
  end,
}
