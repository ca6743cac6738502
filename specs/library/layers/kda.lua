-- SPDX-License-Identifier: MIT
-- Kimi Delta Attention (arXiv 2510.26692): one state [d, d] per head, whose channels have their own
-- decays and which is corrected towards v instead of added to; no positions. floor = n, below 0:
-- logarithms of decays are n sigmoid(e^decay_log f), not -e^decay_log softplus(f).
local recurrent = require "recurrent"
local count = recurrent.count

return sublayer {
  name = "attention",
  options = {
    heads = { type = "integer", min = 1, max = 1 << 20, required = true },
    head_dim = count, gate_rank = count,
    conv = { type = "integer", min = 0, max = 64, default = 4 },
    floor = { type = "number", below = 0 },
  },
  forward = function(m, site, x)
    local o = m.options
    if not o.head_dim and m.dim % o.heads ~= 0 then
      error("kda: expected heads to divide dim = " .. m.dim .. " or a head_dim, found " .. o.heads
        .. " heads")
    end
    local H, d = o.heads, o.head_dim or m.dim // o.heads
    local P, rank = H * d, o.gate_rank or d
    local function stream(name)
      local y = recurrent.short_conv(m, site, name .. "_conv", m:linear(site, name, x, P), o.conv)
      return reshape(y, { H, d })
    end
    local q, k = recurrent.unit(stream "q") * d ^ -0.5, recurrent.unit(stream "k")
    local f = recurrent.through(m, site, "decay", x, rank, P) + recurrent.decay_bias(m, site, P)
    local y = recurrence(q, k, stream "v", {
      decay = recurrent.decay(m, site, reshape(f, { H, d }), o.floor),
      delta = sigmoid(m:linear(site, "beta", x, H)),
    })
    local gate = sigmoid(recurrent.through(m, site, "gate", x, rank, P))
    y = reshape(recurrent.head_norm(m, site, "out_norm", y), { P }) * gate
    return m:linear(site, "o", y, m.dim)
  end,
}
