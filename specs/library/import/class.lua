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

-- A field of two names has no default under either: experts.either takes it.
local function drop(known, name)
  local out = {}
  for key, value in pairs(known[name]) do out[key] = value end
  out.default, out.required, out.stated = nil, nil, nil
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

-- The class's default of a field, and of rope's theta.
function class.default(kind, name) return classes[kind].fields[name] end
function class.theta(kind) return classes[kind].theta end

return class
