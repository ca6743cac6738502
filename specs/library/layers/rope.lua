-- Rotary positions.  A pair (a, b) of channels turns by position * frequency:
-- (a cos - b sin, b cos + a sin).  half: pairs (i, i + d/2); interleaved: (2i, 2i+1).
-- With dims only the first so many channels of a head turn (partial rope); they are d then.
local rope = {}

rope.fields = {
  dims = { type = "integer", min = 2, max = 1 << 20 },
  theta = { type = "number", above = 1, default = 10000 },
  style = { type = "string", one_of = { "half", "interleaved" }, default = "half" },
  yarn = { type = "table", fields = {
    factor = { type = "number", min = 1, required = true },
    original = { type = "integer", min = 1, required = true },
    beta_fast = { type = "number", above = 0, default = 32 },
    beta_slow = { type = "number", above = 0, default = 1 } } },
}

-- Where the frequencies of d channels pass from kept to divided by the factor.
local function ramp(o, d)
  local function channel(turns)
    return d * math.log(o.yarn.original / (2 * math.pi * turns)) / (2 * math.log(o.theta))
  end
  local low = math.max(math.floor(channel(o.yarn.beta_fast)), 0)
  local high = math.min(math.ceil(channel(o.yarn.beta_slow)), d - 1)
  if low == high then high = high + 0.001 end
  return function(i) return math.min(math.max((i - low) / (high - low), 0), 1) end
end

-- cos and sin of d/2 frequencies at the positions of x's tokens, [tokens, d/2]
function rope.waves(o, d, x)
  local frequency, scale = {}, 1
  for i = 0, d // 2 - 1 do frequency[i + 1] = o.theta ^ (-2 * i / d) end
  if o.yarn then
    local r = ramp(o, d)
    for i, f in ipairs(frequency) do
      frequency[i] = f / o.yarn.factor * r(i - 1) + f * (1 - r(i - 1))
    end
    scale = 0.1 * math.log(o.yarn.factor) + 1
  end
  return wave(frequency, { scale = scale, of = x }),
    wave(frequency, { sine = true, scale = scale, of = x })
end

-- Refuses what heads of d channels cannot be turned by; 'what' asks.
function rope.check(what, o, d)
  local name = o.dims and "rope.dims" or what == "mla" and "rope_dim" or "head_dim"
  local n = o.dims or d
  if n % 2 ~= 0 then error(what .. ": expected an even " .. name .. " with rope, found " .. n) end
  if n > d then
    error(what .. ": expected rope.dims to be at most the head's " .. d .. " channels, found " .. n)
  end
end

-- x [tokens, heads, d]
function rope.turn(o, x)
  local heads, d = x:shape()[1], x:shape()[2]
  if o.dims and o.dims < d then
    return concat({ rope.turn(o, slice(x, 2, 1, o.dims)), slice(x, 2, o.dims + 1, d - o.dims) }, 2)
  end
  local c, s = rope.waves(o, d, x)
  if o.style == "half" then
    local a, b = slice(x, 2, 1, d // 2), slice(x, 2, d // 2 + 1, d // 2)
    return concat({ a * c - b * s, b * c + a * s }, 2)
  end
  local pairs_of = reshape(x, { heads, d // 2, 2 })
  local a, b = slice(pairs_of, 3, 1, 1), slice(pairs_of, 3, 2, 1)
  c, s = reshape(c, { d // 2, 1 }), reshape(s, { d // 2, 1 })
  return reshape(concat({ a * c - b * s, b * c + a * s }, 3), { heads, d })
end

-- rope(x, { theta =, style =, yarn = }): x [tokens, heads, d], turned by the places of its tokens.
publish("rope", core.wrap(function(x, o)
  local form = core.form(x)
  if not form or #x:shape() ~= 2 or x:shape()[2] % 2 ~= 0 then
    error("rope: expected a tensor [tokens, heads, d] with an even d, found "
      .. (form or describe(x)))
  end
  return rope.turn(check("rope", rope.fields, o or {}), x)
end))

return rope
