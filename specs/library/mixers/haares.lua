-- SPDX-License-Identifier: MIT
-- HAARES (arXiv 2606.06564): AttnRes blocks with two sources each, the sum C of their outputs and a
-- detail D, the sum with signs, scaled to the size of C. init = "residual": a detail's weight is
-- multiplied by one number per block, 0 at first.
local sources = require "sources"

-- The signs of a block's places as the spec gives them; nil: +1 for the first half, then -1
local function signs(m, size)
  local o = m.options
  if (o.detail == "random") ~= (o.signs ~= nil) or o.signs and #o.signs ~= size then
    error("haares: expected signs, " .. size .. " of them, with detail = 'random' and only then, "
          .. "found " .. (o.signs and #o.signs or "none"))
  end
  return o.signs
end

-- The block's D when 'out' makes its sum C. Halves are told from sums: the first one's, H, and what
-- has come to it since, so that no D is kept beside the Cs. The last place's D is not made of its
-- C, which is a source from then on: what is added to nothing may be stored in fewer bits.
local function signed(state, block, C, out)
  local sign = state.signs and state.signs[block.count]
  if sign then
    local term = sign == 1 and out or -out
    return block.D and block.D + term or term
  end
  local half, H = -(-state.size // 2), block.half
  if block.count <= half then
    block.half = C
    return C
  end
  if block.count == half + 1 then return H - out end
  return block.count < state.size and H - (C - H) or H - block.C + (H - out)
end

local function detail(m, C, D)
  local o = m.options
  if o.detail == "duplicate" then return C end
  if not o.rms_match then return D end
  local ratio = sqrt(mean(C * C, 1)) / (sqrt(mean(D * D, 1)) + 1e-6)
  return D * stop_gradient(min(max(ratio, 1 / o.gamma), o.gamma))
end

local function bias_of(m, n)
  local b = m.options.bias
  if b ~= "learned" then return b end
  return reshape(m:param("blocks." .. n - 1 .. ".residual", "detail_bias", { 1 }, -2), {})
end

local function gain_of(m, n)
  return reshape(m:param("blocks." .. n - 1 .. ".residual", "detail_gain", { 1 }, 0), {})
end

-- The sources in order: e, then C and D of each block. What blocks offer changes for the last only.
local function read(m, state, site)
  local list, bias, gain = state.list, state.bias, state.gain
  for n = state.changed, #state.blocks do
    local block = state.blocks[n]
    list[2 * n], list[2 * n + 1] = block.C, detail(m, block.C, block.D)
    bias[2 * n], bias[2 * n + 1] = 0, bias[2 * n + 1] or bias_of(m, n)
    if gain then gain[2 * n], gain[2 * n + 1] = 1, gain[2 * n + 1] or gain_of(m, n) end
  end
  state.changed = #state.blocks + 1
  local several = #list > 1
  return sources.read(m, site, list, list[#list], several and stack(bias) or nil,
    several and gain and stack(gain) or nil)
end

-- The final read: no D.
local function close(m, state, site)
  local list = { state.list[1] }
  for n, block in ipairs(state.blocks) do list[n + 1] = block.C end
  return sources.read(m, site, list, list[#list], nil)
end

return mixer {
  options = sources.options {
    detail = { type = "string", one_of = { "half", "random", "duplicate" }, default = "half" },
    signs = { type = "list", of = { type = "number", one_of = { 1, -1 } } },
    rms_match = { type = "boolean", default = true },
    bias = { any_of = { { type = "number" }, { type = "string", one_of = { "learned" } } },
      default = "learned" },
    gamma = { type = "number", min = 1, default = 4 },
    init = { type = "string", one_of = { "residual" } },
  },
  check = function(o)
    if o.init and (o.kernel == "linear" or o.value_norm) then
      error("haares: expected init = 'residual' without "
        .. (o.value_norm and "value_norm, which norms" or "kernel 'linear', which weighs")
        .. " sources one by one, found both")
    end
  end,
  open = function(m, e)
    local size = sources.block_size(m, "blocks or block_size")
    return { blocks = {}, list = { e }, bias = { 0 }, changed = 1, size = size,
             signs = signs(m, size), gain = m.options.init and { 1 } or nil }
  end,
  read = read,
  write = function(m, state, site, out)
    local blocks = state.blocks
    local block = blocks[#blocks]
    if not block or block.count == state.size then
      block = { count = 0 }
      blocks[#blocks + 1] = block
    end
    block.count = block.count + 1
    local C = block.C and block.C + out or out
    block.C, block.D = C, signed(state, block, C, out)
    state.changed = math.min(state.changed, #blocks)
    return state
  end,
  close = close,
}
