-- SPDX-License-Identifier: MIT
-- Functions of tensors made of primitives.  Functions of one tensor work element by element.

local function tensor(name, x)
  local form = core.form(x)
  if not form then error(name .. ": expected a tensor, found " .. describe(x)) end
  return x
end

local function number(name, what, x)
  if math.type(x) == nil then
    error(name .. ": expected " .. what .. " to be a number, found " .. describe(x))
  end
  return x
end

for _, row in ipairs(activations.rows) do
  if row.f then
    publish(row.name, core.wrap(function(x) return row.f(tensor(row.name, x)) end))
    _ENV[row.name] = row.f
  end
end

-- cap * tanh(x / cap): nearly x where that is small, never beyond the cap.
function softcap(x, cap)
  tensor("softcap", x)
  if not (number("softcap", "the cap", cap) > 0) then
    error("softcap: expected a cap greater than 0, found " .. describe(cap))
  end
  return cap * tanh(x / cap)
end
publish("softcap", core.wrap(softcap))

-- Sums over the first i entries of an axis, for each i.
publish("cumsum", core.wrap(function(x, axis)
  local shape = tensor("cumsum", x):shape()
  axis = axis or -1
  if math.type(axis) ~= "integer" or axis == 0 or axis > #shape or -axis > #shape then
    error("cumsum: expected an axis of " .. #shape .. ", found " .. describe(axis))
  end
  if axis < 0 then axis = #shape + 1 + axis end
  local sums = {}
  for i = 1, shape[axis] do
    local part = slice(x, axis, i, 1)
    sums[i] = i > 1 and sums[i - 1] + part or part
  end
  return concat(sums, axis)
end))

-- A constant of a shape: zeros({ 3 }), fill(0.5, { 3, 1 }).
publish("fill", core.wrap(function(value, shape)
  return core.fill(number("fill", "the value", value), shape)
end))
publish("zeros", core.wrap(core.zeros))

-- position(): the ids of places in the sequence, for embed.  position { number = true, of = x }:
-- the places as numbers, [tokens], or those of the tokens that x has rows for; number = false: as
-- ids.  A sine of so low a frequency is its angle, to more places than float32 has.
local ids = ops.position
publish("position", core.wrap(function(given)
  if given == nil then return ids() end
  local o = check("position", { number = { type = "boolean", default = true },
                                of = { type = "any" } }, given)
  local form = core.form(o.of) or ""
  if o.of ~= nil and form:sub(1, 7) ~= "[tokens" and not core.list_of(o.of) then
    error("position: expected of to be a tensor of tokens, found " .. describe(o.of))
  end
  if not o.number then
    if o.of == nil then return ids() end
    local before = core.work_on(core.list_of(o.of))
    local places = ids()
    core.work_on(before)
    return places
  end
  return reshape(wave({ 1e-12 }, { sine = true, scale = 1e12, of = o.of }), {})
end))
