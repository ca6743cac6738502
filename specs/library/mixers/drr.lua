-- Depth Routing Residuals (the published listing): a layer starts from the stream x and from what x
-- attends to in two memories of the outputs X of earlier layers.
--   h = g_0 x + g_1 short + g_2 long        g = softmax(W2 gelu(W1 layernorm(x)))
--   short: positions of the last 'window' X      long: summaries of completed blocks of layers, averages
-- over time of proj(layernorm(X)); keys of averages are averages of keys.  Not causal unless asked for.
local memory = require "memory"

local function router(m, prefix, x)
  local wide = m.options.hidden_mult * m.dim
  local u = m:linear(prefix, "hidden", memory.layernorm(m, prefix .. ".norm", x), wide, true)
  u = linear(0.5 * u * (1 + erf(u * 0.5 ^ 0.5)), m:param(prefix, "out.weight", { 3, wide }, 0))
  return softmax(u + m:param(prefix, "out.bias", { 3 }, { 2, 0, -0.5 }), 1)
end

local function short_memory(m, X)
  return table.move(X, math.max(1, #X - m.options.window + 1), #X, 1, {})
end

-- A chunk as long as the context is seen by no position.
local function long_memory(m, X)
  local o, list = m.options, {}
  for i = o.block_layers, o.causal and o.chunk >= m.context and 0 or #X, o.block_layers do
    list[#list + 1] = m:linear("summary", "proj", memory.layernorm(m, "summary.norm", X[i]), m.dim, true)
  end
  return list
end

local function whole(default) return { type = "integer", min = 1, max = 1 << 20, default = default } end

return mixer {
  options = {
    heads = { type = "integer", min = 1, required = true }, window = whole(4), summary_tokens = whole(8),
    block_layers = whole(4), hidden_mult = whole(1), causal = { type = "boolean", default = false }, chunk = whole(),
    query = { type = "string", one_of = { "input", "learned" }, default = "input" },
  },
  check = function(o)
    if o.causal == (o.chunk == nil) then
      error("drr: expected a chunk, the tokens of a summary, with causal = true and only then, found "
        .. (o.chunk or "none") .. " with causal = " .. tostring(o.causal))
    end
  end,
  open = function(m, e)
    local o = m.options
    if m.dim % o.heads ~= 0 then error("drr: expected heads to divide dim = " .. m.dim .. ", found " .. o.heads) end
    if o.causal and o.chunk >= m.context then m:note("drr: no position of " .. m.context .. " sees a chunk of " .. o.chunk) end
    return { h = e, X = {} }
  end,
  read = function(m, state, site)
    if not site.first_in_layer then return state.h end
    local o, x, prefix = m.options, state.h, "layers." .. site.layer .. ".residual."
    local short, long, g = short_memory(m, state.X), long_memory(m, state.X), router(m, prefix .. "router", x)
    local function part(i, y) return slice(g, 1, i, 1) * y end
    local h, pools = part(1, x), not o.causal and o.summary_tokens or nil
    if #short > 0 then h = h + part(2, memory.attend(m, prefix .. "short", x, short, { causal = o.causal })) end
    if #long > 0 then
      local how = { causal = o.causal, chunk = o.chunk, pools = pools }
      h = h + part(3, memory.attend(m, prefix .. "long", x, long, how))
    end
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
