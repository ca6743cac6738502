-- SPDX-License-Identifier: MIT
-- Attention Residuals (arXiv 2603.15031).  Sources: the embedding, the sums of
-- the outputs of completed blocks, and the partial sum of the current block.
local sources, features = require "sources", require "features"

-- { embedding, completed blocks ..., partial sum }, cut to the window
local function visible(m, state)
  local list, done = {}, state.done
  local count = #done + (state.partial and 1 or 0)
  local oldest = math.max(2, count - (m.options.window or count) + 1)
  list[1] = done[1]
  for j = oldest, #done do list[#list + 1] = done[j] end
  list[#list + 1] = state.partial
  return list
end

-- With the linear kernel completed sources are only ever needed as sums.
local function read(m, state, site)
  local newest = state.partial or state.done[#state.done]
  local count = #state.done + (state.partial and 1 or 0)
  if not state.sums or count == 1 then return sources.read(m, site, visible(m, state), newest) end
  m:sources(count)
  return features.read_sums(m, state.sums, sources.query(m, site, newest), state.partial)
end

local function complete(m, state, v)
  table.insert(state.done, v)
  if m.options.kernel == "linear" and not m.options.window then
    state.sums = features.add(m, state.sums, v)
  end
  state.partial, state.count = nil, 0
  return state
end

return mixer {
  options = sources.options {
    full = { type = "boolean" }, window = { type = "integer", min = 1 },
  },
  open = function(m, e)
    return complete(m, { done = {}, size = sources.block_size(m, "blocks, block_size or full") }, e)
  end,
  read = read,
  write = function(m, state, site, out)
    state.partial, state.count = state.partial and state.partial + out or out, state.count + 1
    return state.count == state.size and complete(m, state, state.partial) or state
  end,
  close = read,
}
