-- SPDX-License-Identifier: MIT
-- Depth Routing Residuals (the published listing): a layer starts from the stream x and from what x
-- attends to in two memories of the outputs X of earlier layers.
--   h = g_0 x + g_1 short + g_2 long        g = softmax(W2 gelu(W1 layernorm(x)))
--   short: positions of the last 'window' X
--   long: summaries of completed blocks of layers, averages over time of proj(layernorm(X));
--         keys of averages are averages of keys.  Not causal by default.
-- init = "residual": h = x + g_1 short + g_2 long, whose output matrices start at 0.
local memory = require "memory"

local function whole(default)
  return { type = "integer", min = 1, max = 1 << 20, default = default }
end

-- A chunk as long as the context is seen by no position.
local function unseen(m) return m.options.causal and m.options.chunk >= m.context end

local function memories(m, X)
  local o, long = m.options, {}
  for i = o.block_layers, unseen(m) and 0 or #X, o.block_layers do
    local x = memory.layernorm(m, "summary.norm", X[i])
    long[#long + 1] = m:linear("summary", "proj", x, m.dim, true)
  end
  return table.move(X, math.max(1, #X - o.window + 1), #X, 1, {}), long
end

return mixer {
  options = {
    heads = { type = "integer", min = 1, required = true },
    window = whole(4), summary_tokens = whole(8), block_layers = whole(4), hidden_mult = whole(1),
    causal = { type = "boolean", default = false }, chunk = whole(),
    query = { type = "string", one_of = { "input", "learned" }, default = "input" },
    init = { type = "string", one_of = { "residual" } },
  },
  check = function(o)
    if o.causal ~= (o.chunk == nil) then return end
    error("drr: expected a chunk, the tokens of a summary, with causal = true and only then, found "
      .. (o.chunk or "none") .. " with causal = " .. tostring(o.causal))
  end,
  open = function(m, e)
    local o = m.options
    if m.dim % o.heads ~= 0 then
      error("drr: expected heads to divide dim = " .. m.dim .. ", found " .. o.heads)
    end
    if unseen(m) then
      m:note("drr: no position of " .. m.context .. " sees a chunk of " .. o.chunk)
    end
    return { h = e, X = {} }
  end,
  read = function(m, state, site)
    if not site.first_in_layer then return state.h end
    local o, x, prefix = m.options, state.h, "layers." .. site.layer .. ".residual."
    local short, long = memories(m, state.X)
    local g = memory.router(m, prefix .. "router", x)
    local function part(i, y) return slice(g, 1, i, 1) * y end
    local pools = not o.causal and o.summary_tokens or nil
    local near, far = { causal = o.causal }, { causal = o.causal, chunk = o.chunk, pools = pools }
    local h = o.init == "residual" and x or part(1, x)
    if #short > 0 then h = h + part(2, memory.attend(m, prefix .. "short", x, short, near)) end
    if #long > 0 then h = h + part(3, memory.attend(m, prefix .. "long", x, long, far)) end
    m:sources(1 + #short + #long)
    return h, { h = h, X = state.X }
  end,
  write = function(_, state, site, out)
    local h = state.h + out
    if site.last_in_layer then table.insert(state.X, h) end
    return { h = h, X = state.X }
  end,
  close = function(_, state) return state.h end,
}
