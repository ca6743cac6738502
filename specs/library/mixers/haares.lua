-- HAARES (arXiv 2606.06564): AttnRes blocks that offer two sources each, the
-- sum C of their outputs and a detail D, the sum with signs, scaled to C's size.
local sources = require "sources"

-- +1 for the first half of the block's m places, -1 for the rest
local function signs(m, size)
  local o, half = m.options, {}
  if (o.detail == "random") ~= (o.signs ~= nil) or o.signs and #o.signs ~= size then
    error("haares: expected signs, " .. size .. " of them, with detail = 'random' and only then, "
          .. "found " .. (o.signs and #o.signs or "none"))
  end
  for r = 1, size do half[r] = r <= -(-size // 2) and 1 or -1 end
  return o.signs or half
end

local function detail(m, C, D)
  local o = m.options
  if o.detail == "duplicate" then return C end
  if not o.rms_match then return D end
  local ratio = sqrt(mean(C * C, 1)) / (sqrt(mean(D * D, 1)) + 1e-6)
  return D * stop_gradient(min(max(ratio, 1 / o.gamma), o.gamma))
end

-- The sources in order; 'details' leaves the D out for the final read.
local function read(m, state, site, details)
  local list, bias = { state.e }, { 0 }
  for n, block in ipairs(state.blocks) do
    table.insert(list, block.C)
    table.insert(bias, 0)
    if details then
      local b = m.options.bias
      if b == "learned" then
        b = reshape(m:param("blocks." .. n - 1 .. ".residual", "detail_bias", { 1 }, -2), {})
      end
      table.insert(list, detail(m, block.C, block.D))
      table.insert(bias, b)
    end
  end
  return sources.read(m, site, list, list[#list], details and #list > 1 and stack(bias) or nil)
end

return mixer {
  options = sources.options {
    detail = { type = "string", one_of = { "half", "random", "duplicate" }, default = "half" },
    signs = { type = "list", of = { type = "number", one_of = { 1, -1 } } },
    rms_match = { type = "boolean", default = true },
    bias = { any_of = { { type = "number" }, { type = "string", one_of = { "learned" } } },
      default = "learned" },
    gamma = { type = "number", min = 1, default = 4 },
  },
  open = function(m, e)
    local size = sources.block_size(m, "blocks or block_size")
    return { e = e, blocks = {}, size = size, signs = signs(m, size) }
  end,
  read = function(m, state, site) return read(m, state, site, true) end,
  write = function(m, state, site, out)
    local block, last = state.blocks, state.blocks[#state.blocks]
    if not last or last.count == state.size then
      block[#block + 1] = { C = out, D = state.signs[1] == 1 and out or -out, count = 1 }
    else
      last.count = last.count + 1
      last.C, last.D = last.C + out, state.signs[last.count] == 1 and last.D + out or last.D - out
    end
    return state
  end,
  close = function(m, state, site) return read(m, state, site, false) end,
}
