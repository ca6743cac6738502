-- SPDX-License-Identifier: MIT
-- What config.json leaves out: the values of transformers' configuration classes (classes.lua).
local classes = builtin "classes"
local class = {}

-- What null means where the class takes it: { false }, nothing ({}), or false: it is refused.
local function null_of(field)
  if field.type == "boolean" then return { false } end
  if field.nullable or not field.required and field.default == nil then return {} end
  return false
end

-- The field with the class's default, where it has one; null is refused where the class refuses it.
local function stated(c, name, field)
  local default = c.fields[name]
  if default == nil then return field end
  local out = {}
  for key, value in pairs(field) do out[key] = value end
  out.default, out.required, out.stated = default, nil, true
  out.null = c.null[name] and null_of(field) or false
  return out
end

-- A field of two names has no default under either, which null would become: experts.either takes
-- it.
local function drop(known, name)
  local out = {}
  for key, value in pairs(known[name]) do out[key] = value end
  out.default, out.required, out.stated, out.null = nil, nil, nil, false
  known[name] = out
end

-- known("beam", fields): the known fields with the defaults of the class of that model_type.  A
-- field that the class does not have, or to which it gives nothing, stays as it is.
function class.known(kind, known)
  local c, out = classes[kind], {}
  for name, field in pairs(known) do out[name] = stated(c, name, field) end
  if out.rope_theta and not c.fields.rope_theta and math.type(c.theta) then
    out.rope_theta = { type = "number", above = 1, default = c.theta, stated = true, null = false }
  end
  for name, other in pairs(c.alias) do
    if out[name] and out[other] then
      drop(out, name)
      drop(out, other)
    end
  end
  return out
end

-- Fields that importers look for beside those of a class: what any version of transformers wrote
-- for positions.
local of_all = {
  rope_theta = true, rope_scaling = true, rope_parameters = true, partial_rotary_factor = true,
  original_max_position_embeddings = true,
}

-- By name, what the class of a model_type has under that name or another.
local function names_of(c)
  local out = {}
  for _, names in ipairs { c.fields, c.null, c.alias } do
    for name in pairs(names) do out[name] = true end
  end
  for _, name in pairs(c.alias) do out[name] = true end
  return out
end

-- Fails for the names for which 'bad' holds, all of them in one line.
local function none_of(kind, names, expected, bad)
  local found = {}
  for name in pairs(names) do
    if bad(name) then found[#found + 1] = name end
  end
  table.sort(found)
  if #found > 0 then
    error("import/" .. kind .. ".lua: expected " .. expected .. ", found "
      .. table.concat(found, ", "), 0)
  end
end

-- Fails unless the importer treats each field of the class, and lists what it treats beside them.
local function check(kind, known, without, beside)
  local c = classes[kind]
  local names, treated, others, ignored = names_of(c), {}, {}, {}
  for _, name in ipairs(beside) do others[name] = true end
  for _, name in ipairs(without) do treated[name], ignored[name] = true, true end
  for name in pairs(known) do treated[name] = true end
  none_of(kind, known, "to read fields of its class (classes.lua), or listed beside them",
    function(name) return not names[name] and not of_all[name] and not others[name] end)
  none_of(kind, names, "each field of its class to be read, or listed as without effect",
    function(name) return not treated[name] and not treated[c.alias[name]] end)
  none_of(kind, c.alias, "no second name of a field to be listed as without effect",
    function(name) return ignored[name] end)
  none_of(kind, others, "only fields beside its class that it reads and the class has not",
    function(name) return names[name] or not known[name] end)
end

-- fields(config, class.known(kind, known), without), where each field of the class must be one of
-- 'known' or of 'without'.  beside: those of 'known' that the class does not have: of older files,
-- or what its code looks for all the same.  where: of an object inside config.json.
function class.fields(kind, config, known, without, beside, where)
  check(kind, known, without or {}, beside or {})
  return fields(config, class.known(kind, known), without, where)
end

-- The class's default of a field, and of rope's theta.
function class.default(kind, name) return classes[kind].fields[name] end
function class.theta(kind) return classes[kind].theta end

return class
