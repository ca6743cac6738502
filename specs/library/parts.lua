-- SPDX-License-Identifier: MIT
-- What models are put together from: layers, and the definitions of norms,
-- sublayers, mixers and routes.  A definition makes a constructor; a mixer's
-- name is that of the file that defines it.
local func = { type = "function", required = true }

-- normal(deviation): an initial value for m:param
publish("normal", core.wrap(function(deviation)
  if type(deviation) ~= "number" or not (deviation >= 0 and deviation < math.huge) then
    error("normal: expected a deviation of at least 0, found " .. describe(deviation))
  end
  return object("init", "normal", { deviation = deviation })
end))
normal = public.normal

-- Places of a line at which a map is asked.
local places = 257

-- What a line from low to high becomes by 'map': two numbers without one.
local function line(low, high, map)
  if not map then return { low, high } end
  local list = {}
  for i = 1, places do
    local x = low + (high - low) * ((i - 1) / (places - 1))
    local y = map(x)
    if type(y) ~= "number" or y ~= y or math.abs(y) == math.huge then
      error("uniform: expected a function to finite numbers, found " .. describe(y) .. " at " .. x)
    end
    list[i] = y
  end
  return list
end

-- uniform(low, high, map): an initial value for m:param, numbers drawn evenly from low to high, of
-- each of which map(x), if there is one, is taken, which is a line between 257 places.  They depend
-- on the seed and the parameter's name.
publish("uniform", core.wrap(function(low, high, map)
  local function finite(x) return type(x) == "number" and math.abs(x) < math.huge end
  if not finite(low) or not finite(high) or low > high then
    error("uniform: expected two numbers, the first not above the second, found "
      .. describe(low) .. " and " .. describe(high))
  end
  if map ~= nil and type(map) ~= "function" then
    error("uniform: expected a function third, found " .. describe(map))
  end
  return object("init", "uniform", { points = line(low, high, map) })
end))
uniform = public.uniform

-- define("mixer", fields): the constructor 'mixer', whose result constructs
-- mixers with the options its definition names.
local function define(kind, fields, prepare)
  fields.options = { type = "any", default = {} }
  return constructor(kind .. " constructor", function(given)
    local definition, name = check(kind, fields, given), core.module(2)
    if type(definition.options) ~= "table" then
      error(kind .. ": expected options to be a table of defaults, found "
        .. describe(definition.options))
    end
    local options = {} -- its own: definitions may share a table, or have the default one
    for field, default in pairs(definition.options) do options[field] = default end
    definition.options = options
    if prepare then prepare(definition, name) end
    local file, line = core.here()
    return constructor(kind, function(options)
      local o = { options = check(name, definition.options, options), definition = definition }
      o.defined_file, o.defined_line = file, line
      local made = object(kind, name, o)
      if definition.check then definition.check(o.options) end
      return made
    end, definition.options)
  end, fields)
end

publish("mixer", define("mixer", {
  open = func, read = func, write = func, close = func,
  prenorm = { any_of = { { type = "boolean" }, { type = "function" } }, default = true },
  check = { type = "function" },
}))
publish("route", define("route", {
  run = func, loss = { type = "function" }, sublayer = { type = "string" },
  forms = { type = "boolean", default = false }, check = { type = "function" },
}))
publish("norm", define("norm", { apply = func }))
norm = public.norm
-- A norm before or after a sublayer: the model's (true), none (false) or another.
local some_norm = { any_of = { { type = "norm" }, { type = "boolean" } } }
-- What every sublayer has beside its own options; its name is by default what its definition says,
-- or its file's.
local common = {
  dropout = { type = "number", min = 0, below = 1, default = 0 },
  multiplier = { type = "number", default = 1 },     -- of what it returns
  norm = { type = "table", fields = { before = some_norm, after = some_norm } },
}

-- The names of what a sublayer reads.
function check_reads(owner, reads)
  local seen = {}
  if type(reads) ~= "table" or kind_of(reads) or #reads == 0 then
    error(owner .. ": expected reads to be a list of names, found " .. describe(reads))
  end
  for _, name in ipairs(reads) do
    if type(name) ~= "string" or #name == 0 or #name > 64 or seen[name] then
      error(owner .. ": expected reads to be names, each once, found " .. describe(name))
    end
    seen[name] = true
  end
  return reads
end

publish("sublayer", define("sublayer", {
  forward = func, check = { type = "function" }, name = { type = "string", longest = 64 },
  reads = { type = "any" },
},
  function(definition, name)
  local options, reads = definition.options, definition.reads
  if reads ~= nil and type(reads) ~= "function" then check_reads("sublayer", reads) end
  for _, field in ipairs { "name", "dropout", "norm", "multiplier" } do
    if options[field] ~= nil then
      error("sublayer: expected options other than name, dropout, norm and multiplier, which every "
        .. "sublayer has, found '" .. field .. "'")
    end
    options[field] = common[field]
  end
  options.name = { type = "string", longest = 64, default = definition.name or name }
end))
sublayer = public.sublayer

-- {== layer and times ========================================================

local reserved = { residual = true, router = true, predictor = true }

local function check_sublayers(list)
  local seen = {}
  for i, s in ipairs(list) do
    if kind_of(s) ~= "sublayer" then
      error("layer: expected a sublayer such as mlp { hidden = 256 } at place " .. i .. ", found "
        .. describe(s))
    end
    local name = inside(s).options.name
    if seen[name] or reserved[name] then
      error("layer: expected sublayers with names of their own, found "
        .. (seen[name] and "a second" or "the reserved name") .. " '" .. name
            .. "'; give it another with name = '...'")
    end
    seen[name] = true
  end
  if #list == 0 then error("layer: expected at least one sublayer, found none") end
end

local layer_fields = {
  route = { type = "route" },
  parallel = { type = "boolean", default = false },    -- all read before any writes
  share = { type = "string", longest = 64 },           -- parameters, with layers that say the same
}

publish("layer", constructor("layer", function(given)
  if type(given) ~= "table" or kind_of(given) then
    error("layer: expected layer { sublayer, ... }, found " .. describe(given))
  end
  local list, named = {}, {}
  for k, v in pairs(given) do
    if math.type(k) == "integer" then list[k] = v else named[k] = v end
  end
  for i in pairs(list) do
    if i < 1 or i > #list then
      error("layer: expected a list of sublayers without gaps, found one at place " .. i)
    end
  end
  check_sublayers(list)
  local o = check("layer", layer_fields, named)
  return object("layer", "layer", { sublayers = list, route = o.route, parallel = o.parallel,
                                    share = o.share })
end, layer_fields))

-- Lists that 'times' made.
local repeated = {}

-- A layer that is written twice is two layers, which some do not expect.
local function note_twice(seen, layer, place)
  if not seen then return end
  if seen[layer] and not inside(layer).share then
    core.note("layers " .. seen[layer] .. " and " .. place .. " are the same layer { ... }, with "
      .. "parameters of their own each: share = 'name' in it shares them, times(n, layer) says "
      .. "that they are meant to be alike")
    inside(layer).noted = true
  end
  seen[layer] = seen[layer] or place
end

-- Appends the layers of a nested list to 'out'.  'seen': places of those that are not of 'times'.
function flatten(what, list, out, seen)
  if kind_of(list) == "layer" then
    if not inside(list).noted then note_twice(seen, list, #out) end
    table.insert(out, list)
    core.limit(what, #out)
  elseif type(list) == "table" and not kind_of(list) then
    for k, v in pairs(list) do
      if math.type(k) ~= "integer" then
        error(what .. ": expected a list of layers, found the field '" .. tostring(k) .. "'")
      end
      flatten(what, v, out, not repeated[list] and seen or nil)
    end
  else
    error(what .. ": expected layer { ... } or a list of those, found " .. describe(list))
  end
  return out
end

publish("times", core.wrap(function(n, layers)
  local count = type(n) == "number" and math.tointeger(n)
  if not count or count < 1 then
    error("times: expected a positive integer first, found " .. describe(n))
  end
  local one, out = flatten("times", layers, {}), {}
  core.limit("times", count)
  core.limit("times", count * #one)
  for _ = 1, count do
    for _, layer in ipairs(one) do out[#out + 1] = layer end
  end
  repeated[out] = true
  return out
end))

-- }==========================================================================
