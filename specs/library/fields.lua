-- SPDX-License-Identifier: MIT
-- Checks the values in a spec.  A table of fields gives, by name, the type of each value, its
-- range, and its default or that it is required:
--   { type = "integer", min = 1, default = 4 }
--   { type = "string", one_of = { ... }, required = true }
-- Types: integer number string boolean table (with fields = { ... }) list function any, and the
-- kinds of objects that constructors make.  Instead of a type: any_of = { field, ... }.  A plain
-- value is a default of its type.

-- {== Objects: what constructors return; their contents are ours alone =======

local private, made_by, takes = {}, {}, {}     -- by object; by constructor: kind, fields

local function opaque()
  error("expected an object that is only passed on, found an attempt to look inside it")
end
local locked = { __metatable = false, __index = opaque, __newindex = opaque,
                 __tostring = function(o) return private[o].kind .. " " .. private[o].name end,
                 -- a C function: where it is called last, the caller's line is not lost
                 __call = core.wrap(function(o)
                   local used = kind_of(o) == "norm" and "m:norm(site, x) norms in a mixer"
                                or "leave its { ... } out"
                   error("expected a constructor before { ... }, found " .. describe(o)
                     .. " that is made already; " .. used)
                 end) }

-- Remembers the user's line as file and line.
function object(kind, name, fields)
  local o = setmetatable({}, locked)
  fields.kind, fields.name = kind, name
  fields.file, fields.line = core.here()
  private[o] = fields
  return o
end

function inside(o) return private[o] end
function kind_of(o) return type(o) == "table" and private[o] and private[o].kind end
function constructs(f) return type(f) == "function" and made_by[f] end
function fields_of(f) return takes[f] end

-- A public function that makes objects of a kind from a table of fields.
function constructor(kind, make, fields)
  local f = core.wrap(make)
  made_by[f], takes[f] = kind, fields
  return f
end

-- }{== Words ================================================================

local example = {
  norm = "rmsnorm {}", mixer = "standard {}", sublayer = "mlp { hidden = 256 }",
  layer = "layer { ... }",
  optimizer = "adamw { lr = 3e-4 }", schedule = "constant {}", route = "a route of your own",
  lora = "lora { rank = 8, targets = { '*.attention.q' } }",
  init = "normal(0.02)",
}

local function article(word)
  return (word:sub(1, 1) == "o" or word:sub(1, 1) == "i") and "an " .. word or "a " .. word
end

function describe(v)
  local kind = type(v)
  if v == nil then return "nothing" end
  if kind == "number" then
    return v ~= v and "no number (NaN)" or "the number " .. tostring(math.tointeger(v) or v)
  end
  if kind == "string" then
    return "the string '" .. (#v > 60 and v:sub(1, 60) .. "..." or v) .. "'"
  end
  if kind == "boolean" then return tostring(v) end
  if kind == "userdata" then return "a " .. tostring(v) end
  if kind_of(v) then return article(kind_of(v)) end
  if constructs(v) then return "a constructor without its { ... }" end
  return "a " .. kind
end

function sorted_names(t)
  local names = {}
  for name in pairs(t) do
    if type(name) == "string" then table.insert(names, name) end
  end
  return names
end

local function nearest(name, t)
  local best, least = nil, math.huge
  for _, other in ipairs(sorted_names(t)) do
    local d = core.distance(name:sub(1, 40):lower(), other:lower())
    if d < least then best, least = other, d end
  end
  return best, least
end

-- Is one of the words the other's beginning, and says something?
local function begins(a, b)
  local n = math.min(#a, #b)
  return n >= 3 and a:sub(1, n) == b:sub(1, n)
end

-- "expected ..., found ...; did you mean '...'?"; what is not near is not offered, unless far: the
-- reader cannot know the names.
function unknown(expected, found, name, t, far)
  local best, d = nearest(name, t)
  local near = best and d <= math.max(1, #name // 3) and d < math.min(#name, #best)
  if near then return expected .. ", " .. found .. "; did you mean '" .. best .. "'?" end
  if best and not far and not begins(name, best) then best = nil end
  return expected .. ", " .. found .. (best and "; the nearest is '" .. best .. "'" or "")
end

-- "a, b and c"
function enumerate(list, last)
  if #list < 2 then return list[1] or "none" end
  return table.concat(list, ", ", 1, #list - 1) .. " " .. last .. " " .. list[#list]
end

local function quoted(list)
  local out = {}
  for i, v in ipairs(list) do out[i] = type(v) == "string" and "'" .. v .. "'" or tostring(v) end
  return out
end

local function range(what, field)
  if field.min and field.max then return what .. " from " .. field.min .. " to " .. field.max end
  local low = field.min and " of at least " .. field.min
              or field.above and " greater than " .. field.above or ""
  local high = field.max and (low == "" and " of at most " or " at most ") .. field.max
               or field.below and " below " .. field.below or ""
  return what .. low .. (low ~= "" and high ~= "" and " and" or "") .. high
end

function wanted(field)
  local kind = field.type
  if field.any_of then
    local out = {}
    for i, f in ipairs(field.any_of) do out[i] = wanted(f) end
    return enumerate(out, "or")
  end
  if field.one_of then return enumerate(quoted(field.one_of), "or") end
  if kind == "integer" then
    return field.min == 1 and not field.max and "a positive integer" or range("an integer", field)
  end
  if kind == "number" then return range("a number", field) end
  if kind == "boolean" then return "true or false" end
  if kind == "string" and field.longest then
    return "a name of at most " .. field.longest .. " letters, digits and '_'"
  end
  if kind == "list" then
    return "a list of " .. (field.count and field.count .. " values, each " or "values, each ")
      .. wanted(field.of)
  end
  return example[kind] and article(kind) .. " such as " .. example[kind] or "a " .. kind
end

-- }{== Conversion: (true, value) if it fits ==================================

local convert = {}

local function one_of(field, v)
  for _, other in ipairs(field.one_of or {}) do
    if v == other then return true end
  end
  return not field.one_of
end

local function in_range(field, n)
  return one_of(field, n)
     and (not field.min or n >= field.min) and (not field.max or n <= field.max)
     and (not field.above or n > field.above) and (not field.below or n < field.below)
end

function convert.integer(field, v)
  local n = type(v) == "number" and math.tointeger(v)
  return n and in_range(field, n), n
end

function convert.number(field, v)
  return type(v) == "number" and v - v == 0 and in_range(field, v), v
end

function convert.string(field, v)
  if type(v) ~= "string" then return false end
  if field.longest then return core.identifier(v, field.longest), v end
  return one_of(field, v), v
end

function convert.list(field, v, what)
  if type(v) ~= "table" or kind_of(v) then return false end
  if field.count and rawlen(v) ~= field.count then return false end
  local out = {}
  for i = 1, rawlen(v) do
    local ok, value = fits(field.of, rawget(v, i), what)
    if not ok then return false end
    out[i] = value
  end
  return true, out
end

function convert.table(field, v, what)
  if type(v) ~= "table" or kind_of(v) then return false end
  return true, check(what, field.fields, v)
end

function convert.any(_, v) return true, v end

function fits(field, v, what)
  for _, alternative in ipairs(field.any_of or {}) do
    local ok, value = fits(alternative, v, what)
    if ok then return true, value end
  end
  if field.any_of then return false end
  if convert[field.type] then return convert[field.type](field, v, what) end
  return kind_of(v) == field.type or type(v) == field.type, v
end

-- }{== Tables of fields =====================================================

-- An error about a field, "model.dim", of the table that a constructor was given: blamed on the
-- field's own line where that can be found.
function blame(field, message)
  local file = core.here()
  local line = core.field_line(field)
  if line then core.at(file, line, error, message) end
  error(message)
end

-- What a field of an option table means if it is a plain default.
function as_field(value)
  if type(value) == "table" and type(value.type or value.any_of) ~= "nil" then return value end
  return { type = type(value) == "table" and "any" or type(value), default = value }
end

local function check_names(what, fields, given)
  for name in pairs(given) do
    if type(name) ~= "string" then
      error(what .. ": expected named fields (" .. enumerate(sorted_names(fields), "and")
        .. "), found " .. describe(given[name]) .. " without a name")
    end
    if not fields[name] then
      blame(what .. "." .. name, unknown(what .. ": expected fields out of "
        .. enumerate(sorted_names(fields), "and"), "found '" .. name .. "'", name, fields))
    end
  end
end

-- The values of all fields, defaults filled in; errors say "<what>: expected ...".
function check(what, fields, given)
  if type(given) ~= "table" or kind_of(given) then
    error(what .. ": expected a table of fields, " .. what .. " { ... }, found " .. describe(given))
  end
  check_names(what, fields, given)
  local values = {}
  for name, field in pairs(fields) do
    field = as_field(field)
    local value = rawget(given, name)
    if value == nil and field.required then
      error(what .. ": expected the field '" .. name .. "', " .. wanted(field) .. ", found none")
    end
    if value ~= nil then
      local ok, fitting = fits(field, value, what .. "." .. name)
      if not ok then
        blame(what .. "." .. name, what .. ": expected " .. name .. " to be " .. wanted(field)
          .. ", found " .. describe(value))
      end
      values[name] = fitting
    else
      values[name] = field.default
    end
  end
  return values
end

-- }==========================================================================
