-- SPDX-License-Identifier: MIT
-- Rotary positions.  A pair (a, b) of channels rotates by position * frequency:
--   (a cos - b sin, b cos + a sin).  half: pairs (i, i + d/2); interleaved: (2i, 2i+1).
-- With dims, only the first dims channels of a head rotate (partial rope); d is then dims.  For
-- contexts longer than in training: linear = s divides frequencies by s; yarn divides the low
-- frequencies (arXiv 2309.00071), and llama3 does so by wavelength (arXiv 2407.21783); longrope
-- divides each frequency by a number of its own, from one list for contexts up to the length of
-- training and from another one for longer contexts (arXiv 2402.13753).
local rope = {}

local factor = { type = "number", min = 1, required = true }
local original = { type = "integer", min = 1, required = true } -- tokens of training
local positive = { type = "number", above = 0, required = true }
local divisors = { type = "list", of = { type = "number", above = 0 }, required = true }

rope.fields = {
  dims = { type = "integer", min = 2, max = 1 << 20 },
  theta = { type = "number", above = 1, default = 10000 },
  style = { type = "string", one_of = { "half", "interleaved" }, default = "half" },
  direction = { type = "string", one_of = { "forward", "backward" }, default = "forward" },
  linear = { type = "number", above = 0 },
  -- attention_factor: of cos and sin, 0.1 ln factor + 1 unless given; truncate: whether the ramp
  -- begins and ends at whole channels
  yarn = { type = "table", fields = {
    factor = factor, original = original,
    beta_fast = { type = "number", above = 0, default = 32 },
    beta_slow = { type = "number", above = 0, default = 1 },
    attention_factor = { type = "number", above = 0 },
    truncate = { type = "boolean", default = true } } },
  -- waves longer than original / low are divided by the factor, shorter than original / high stay
  llama3 = { type = "table", fields = {
    factor = positive, original = original, low = positive, high = positive } },
  -- factor: how much longer contexts may get, the model's context / original unless given;
  -- attention_factor: of cos and sin, sqrt(1 + ln factor / ln original) unless given
  longrope = { type = "table", fields = {
    short = divisors, long = divisors,
    original = { type = "integer", min = 2, required = true },
    factor = { type = "number", above = 0 },
    attention_factor = { type = "number", above = 0 } } },
}

-- How far the frequencies of d channels have passed from kept, 0, to divided by the factor, 1.
local function ramp(o, d)
  local function channel(turns)
    return d * math.log(o.yarn.original / (2 * math.pi * turns)) / (2 * math.log(o.theta))
  end
  local low, high = channel(o.yarn.beta_fast), channel(o.yarn.beta_slow)
  if o.yarn.truncate ~= false then low, high = math.floor(low), math.ceil(high) end
  low, high = math.max(low, 0), math.min(high, d - 1)
  if low == high then high = high + 0.001 end
  local share = {}
  for i = 0, d // 2 - 1 do
    share[i + 1] = math.min(math.max((i - low) / (high - low), 0), 1)
  end
  return share
end

local scaled = {}

function scaled.linear(o, f) return f / o.linear end

function scaled.yarn(o, f, r) return f / o.yarn.factor * r + f * (1 - r) end

function scaled.longrope(_, f, divisor) return f / divisor end

-- Between the two wavelengths, a mean of both by where it lies.
function scaled.llama3(o, f)
  local l = o.llama3
  local turns = l.original * f / (2 * math.pi)
  if turns > l.high then return f end
  if turns < l.low then return f / l.factor end
  local keep = (turns - l.low) / (l.high - l.low)
  return (1 - keep) * f / l.factor + keep * f
end

-- The ways to longer contexts, and what cos and sin are multiplied by.
local ways = { "linear", "yarn", "llama3", "longrope" }
local scales = {}

function scales.yarn(y) return y.attention_factor or 0.1 * math.log(y.factor) + 1 end

function scales.longrope(l, context)
  local s = l.factor or context / l.original
  return l.attention_factor or s > 1 and (1 + math.log(s) / math.log(l.original)) ^ 0.5 or 1
end

-- cos and sin of d/2 frequencies at the positions of x's tokens, or so many after them, [tokens,
-- d/2], in a model of so long a context
local function waves(o, d, x, context, by)
  local frequency, scale, list, scale_of = {}, 1, nil, nil
  for _, way in ipairs(ways) do
    if o[way] then scale_of = scaled[way] end
    if o[way] and scales[way] then scale = scales[way](o[way], context) end
  end
  if o.yarn then list = ramp(o, d) end
  if o.longrope then list = o.longrope[context > o.longrope.original and "long" or "short"] end
  for i = 0, d // 2 - 1 do
    local f = o.theta ^ (-2 * i / d)
    frequency[i + 1] = scale_of and scale_of(o, f, list and list[i + 1]) or f
  end
  local c = wave(frequency, { scale = scale, of = x })
  local s = wave(frequency, { sine = true, scale = scale, of = x })
  if by then
    local more, turned = {}, {}
    for i, f in ipairs(frequency) do more[i], turned[i] = math.cos(by * f), math.sin(by * f) end
    more, turned = stack(more), stack(turned)
    c, s = c * more - s * turned, s * more + c * turned
  end
  return c, o.direction == "backward" and -s or s
end

-- Refuses what heads of d channels cannot be turned by; 'what' asks.
function rope.check(what, o, d)
  local name = o.dims and "rope.dims" or what == "mla" and "rope_dim" or "head_dim"
  local n = o.dims or d
  if n % 2 ~= 0 then error(what .. ": expected an even " .. name .. " with rope, found " .. n) end
  if n > d then
    error(what .. ": expected rope.dims to be at most the head's " .. d .. " channels, found " .. n)
  end
  local taken = {}
  for _, way in ipairs(ways) do
    if o[way] then taken[#taken + 1] = way end
  end
  if #taken > 1 then
    error(what .. ": expected one of " .. enumerate(ways, "and") .. " in rope, found " .. taken[1]
      .. " and " .. taken[2])
  end
  for _, name in ipairs(o.longrope and { "short", "long" } or {}) do
    if #o.longrope[name] ~= n // 2 then
      error(what .. ": expected rope.longrope." .. name .. " to be " .. n // 2
        .. " numbers, one for each two channels that turn, found " .. #o.longrope[name])
    end
  end
  if o.llama3 and o.llama3.low >= o.llama3.high then
    error(what .. ": expected rope.llama3.low to be below high = " .. o.llama3.high .. ", found "
      .. o.llama3.low)
  end
end

-- x [tokens, heads, d], in a model of so long a context; by: as if it stood so many places later
function rope.turn(o, x, context, by)
  local heads, d = x:shape()[1], x:shape()[2]
  if o.dims and o.dims < d then
    return concat({ rope.turn(o, slice(x, 2, 1, o.dims), context, by),
                    slice(x, 2, o.dims + 1, d - o.dims) }, 2)
  end
  local c, s = waves(o, d, x, context, by)
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
-- What depends on a model's context has none here.
local fields_of_x = {}
for name, field in pairs(rope.fields) do
  if name ~= "longrope" then fields_of_x[name] = field end
end
publish("rope", core.wrap(function(x, o)
  local form = core.form(x)
  if not form or #x:shape() ~= 2 or x:shape()[2] % 2 ~= 0 then
    error("rope: expected a tensor [tokens, heads, d] with an even d, found "
      .. (form or describe(x)))
  end
  o = check("rope", fields_of_x, o or {})
  rope.check("rope", o, x:shape()[2])
  return rope.turn(o, x)
end))

return rope
