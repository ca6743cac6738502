-- SPDX-License-Identifier: MIT
-- option { name = field, ... } declares what a command line may choose (-D name=value) and returns
-- the values: the chosen ones, else the fields' defaults.  Fields are those of a mixer's options,
-- of types that a word can have, with a help text.
local text = { type = "string" }
local anything = { type = "any" }
local limit = { type = "number" }
local kinds = { type = "string", one_of = { "integer", "number", "boolean", "string" } }

local alternative = {
  type = kinds, one_of = { type = "list", of = anything },
  min = limit, max = limit, above = limit, below = limit,
  longest = { type = "integer", min = 1, max = 4096 },
}
local parts = {
  any_of = { type = "list", of = { type = "table", fields = alternative } },
  default = anything, required = { type = "boolean" }, help = text,
}
for name, part in pairs(alternative) do parts[name] = part end

-- The field that was given, checked: a plain value is a default, and a default has a type.
local function field_of(name, given)
  local what = "option." .. name
  local plain = type(given) ~= "table" or kind_of(given)
  local field = plain and { default = given } or check(what, parts, given)
  if not field.type and not field.any_of and field.default ~= nil then
    field.type = type(field.default)
  end
  for _, f in ipairs(field.any_of or { field }) do
    if not fits(kinds, f.type) then
      blame(what, "option: expected " .. name .. " to have a type, " .. wanted(kinds) .. ", found "
        .. describe(field.default))
    end
  end
  if field.default ~= nil and not fits(field, field.default, what) then
    blame(what .. ".default", "option: expected the default of " .. name .. " to be "
      .. wanted(field) .. ", found " .. describe(field.default))
  end
  return field
end

local read = {
  string = function(word) return word end,
  number = tonumber,
  integer = tonumber,
  boolean = function(word)
    if word == "true" or word == "false" then return word == "true" end
  end,
}

-- What a word is as a value of the field; nil: it is none.
local function meant(field, word)
  for _, other in ipairs(field.any_of or {}) do
    local value = meant(other, word)
    if value ~= nil then return value end
  end
  local value = field.type and read[field.type](word)
  if value == nil then return nil end
  local ok, fitting = fits(field, value)
  if ok then return fitting end
end

-- The word that was chosen, the last one.
local function chosen(name)
  local word = nil
  for _, choice in ipairs(core.chosen) do
    if choice.name == name then word = choice.text end
  end
  return word
end

local function value_of(name, field)
  local word = chosen(name)
  if word == nil and field.required then
    blame("option." .. name, "option: expected -D " .. name .. "=VALUE, " .. wanted(field)
      .. ", found none")
  end
  if word == nil then return field.default end
  local value = meant(field, word)
  if value == nil then
    blame("option." .. name, "-D " .. name .. ": expected " .. wanted(field) .. ", found '" .. word
      .. "'")
  end
  return value
end

publish("option", core.wrap(function(given)
  if type(given) ~= "table" or kind_of(given) or next(given) == nil then
    error("option: expected option { width = 64, ... }, found " .. describe(given))
  end
  local values, known = {}, {}
  for name, about in pairs(given) do
    if type(name) ~= "string" or not core.identifier(name, 63) then
      error("option: expected names of at most 63 letters, digits and '_', found "
        .. describe(name))
    end
    local field = field_of(name, about)
    values[name], known[name] = value_of(name, field), true
    core.option(core.field_line("option." .. name), name, values[name], field.default,
      wanted(field), field.help or "", chosen(name) ~= nil)
  end
  return setmetatable(values, { __metatable = false, __index = function(_, name)
    if type(name) ~= "string" or known[name] then return nil end
    error(unknown("option: expected one of " .. enumerate(sorted_names(known), "and"),
      "found '" .. name .. "'", name, known))
  end })
end))
