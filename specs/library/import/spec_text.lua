-- SPDX-License-Identifier: MIT
-- Specs as data that are written as text: what constructors give in importers.  Its environment is
-- the library's; kit.lua gives it the request and what config_fields.lua returned.
local request, config = ...
local refuse, show, says = config.refuse, config.show, config.says

local quoted = {}          -- metatable of constructors' calls that are written, not made

-- A number that an option does not take is refused by the fields that say it, if any does.
local function check_numbers(what, takes, args)
  for name, v in pairs(args) do
    local field = takes[name] ~= nil and as_field(takes[name]) or {}
    if field.fields and type(v) == "table" and getmetatable(v) == nil then
      check_numbers(what, field.fields, v)
    elseif type(v) == "number" and (field.type or field.any_of) and not fits(field, v, what)
      and says[v] then
      refuse(says[v], wanted(field), show(v))
    end
  end
end

local function quote(name)
  return function(args)
    local constructor = rawget(public, name)
    local takes = constructor and fields_of(constructor)
    if takes and type(args) == "table" then check_numbers(name, takes, args) end
    return setmetatable({ call = name, args = args or {} }, quoted)
  end
end

local function is_quoted(v) return type(v) == "table" and getmetatable(v) == quoted end

-- named("sliding", layer { ... }): what a local of the spec is called, if it is needed.
local function named(name, node)
  node.name = node.name or name
  return node
end

local order = {}
for i, name in ipairs {
  "name", "vocab", "context", "dim", "tokenizer", "embedding", "logits", "norm", "final_norm",
  "residual", "hidden", "activation", "heads", "kv_heads", "head_dim", "tied", "bias", "qk_norm",
  "scale", "window", "softcap", "rope", "theta", "experts", "top", "layers",
} do order[name] = i end

local function by_order(a, b)
  local i, j = order[a] or 1000, order[b] or 1000
  if i ~= j then return i < j end
  return a < b
end

-- What is said though it is the default.
local said = { theta = true, eps = true, tied = true }

local function number_text(x)
  if x - x ~= 0 then refuse("it", "fields that make finite numbers of the spec", show(x)) end
  local i = math.tointeger(x)
  if i then return tostring(i) end
  for digits = 1, 17 do
    local s = ("%." .. digits .. "g"):format(x)
    if tonumber(s) == x then
      local at
      for k = 1, #s do if s:sub(k, k) == "e" then at = k end end
      if not at then return s end
      local sign, rest = s:sub(at + 1, at + 1), s:sub(at + 2)
      while #rest > 1 and rest:sub(1, 1) == "0" do rest = rest:sub(2) end
      return s:sub(1, at) .. (sign == "-" and "-" or "") .. rest
    end
  end
end

local function is_list(t)
  for k in pairs(t) do
    if math.type(k) ~= "integer" then return false end
  end
  return true
end

local write

-- Entries of a table as text, in order; without what is the default.
local function entries(t, known, indent)
  local out, names = {}, {}
  for i = 1, #t do out[i] = write(t[i], nil, indent) end
  for k in pairs(t) do
    if type(k) == "string" then names[#names + 1] = k end
  end
  table.sort(names, by_order)
  for _, name in ipairs(names) do
    local field = known and known[name] ~= nil and as_field(known[name]) or {}
    local v = t[name]
    if field.default == nil or v ~= field.default or said[name] then
      out[#out + 1] = name .. " = " .. write(v, field.fields, indent)
    end
  end
  return out
end

local width = 98

local function braces(list, indent, tall)
  if #list == 0 then return "{}" end
  local line = "{ " .. table.concat(list, ", ") .. " }"
  local fits, i = not tall and #line + #indent + 14 <= width, 0
  while fits and i < #line do
    i = i + 1
    fits = line:sub(i, i) ~= "\n"
  end
  if fits then return line end
  local inner, text, at = indent .. "  ", "{\n" .. indent .. "  ", 0
  for i, s in ipairs(list) do
    local wrap = tall or at + #s + #inner > width
    if i > 1 then text = text .. (wrap and ",\n" .. inner or ", ") end
    at = (wrap and 0 or at) + #s + 2
    text = text .. s
  end
  return text .. ",\n" .. indent .. "}"
end

-- The text of a value; 'known': fields, whose defaults are left out.
function write(v, known, indent)
  if type(v) == "number" then return number_text(v) end
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) == "boolean" then return tostring(v) end
  if type(v) ~= "table" then error("expected what a spec can say, found " .. describe(v)) end
  if v.text then return v.text end
  if not is_quoted(v) then return braces(entries(v, known, indent .. "  "), indent) end
  if v.reference then return v.reference end
  local constructor = rawget(public, v.call)
  local takes = constructor and fields_of(constructor)
  return v.call .. " "
    .. braces(entries(v.args, takes, indent .. "  "), indent, v.call == "layer")
end

-- {== Layers ================================================================

-- The longest repetition that begins at i: its period and how often.
local function repetition(keys, i, n)
  local best, times, covered = 1, 1, 1
  for p = 1, (n - i + 1) // 2 do
    local k = i + p
    while k <= n and keys[k] == keys[k - p] do k = k + 1 end
    local r = (k - i) // p
    if r >= 2 and r * p > covered then best, times, covered = p, r, r * p end
    if covered == n - i + 1 then break end
  end
  return best, times
end

-- Equal layers as times(n, ...), repeated groups of them too; 'text' by key.
local function compress(keys, first, last, text)
  local out, i = {}, first
  while i <= last do
    local p, r = repetition(keys, i, last)
    if r == 1 then
      out[#out + 1] = text[keys[i]]
    elseif p == 1 then
      out[#out + 1] = "times(" .. r .. ", " .. text[keys[i]] .. ")"
    else
      out[#out + 1] = "times(" .. r .. ", { "
        .. table.concat(compress(keys, i, i + p - 1, text), ", ") .. " })"
    end
    i = i + p * r
  end
  return out
end

-- The distinct layers, by their text, and which is where.
local function kinds_of(layers)
  local keys, kinds, seen = {}, {}, {}
  for i, node in ipairs(layers) do
    local text = write(node, nil, "")
    if not seen[text] then
      kinds[#kinds + 1] = { text = text, name = node.name, node = node }
      seen[text] = #kinds
    end
    keys[i] = seen[text]
  end
  return keys, kinds
end

-- Names of their own for the kinds of layers.
local function name_kinds(kinds)
  local taken = {}
  for i, kind in ipairs(kinds) do
    local name = kind.name or "layer_" .. i
    while taken[name] do name = name .. "_" .. i end
    taken[name], kind.name = true, name
  end
end

-- Lines for definitions, and the text of the list of layers.
local function layers_text(layers)
  local keys, kinds = kinds_of(layers)
  if #kinds == 1 then
    local inner = write(kinds[1].node, nil, "  ")
    return {}, #layers == 1 and "{ " .. inner .. " }" or "times(" .. #layers .. ", " .. inner .. ")"
  end
  name_kinds(kinds)
  local lines, text = {}, {}
  for i, kind in ipairs(kinds) do
    lines[i] = "local " .. kind.name .. " = " .. kind.text
    text[i] = kind.name
  end
  return lines, braces(compress(keys, 1, #keys, text), "  ")
end

-- }{== The whole =============================================================

-- Parts of a model's fields that go on one line.
local rows = {
  { "name" }, { "vocab", "context", "dim" }, { "tokenizer" }, { "embedding" }, { "logits" },
  { "norm" }, { "final_norm" }, { "residual" },
}

local function one_line(text)
  local out = {}
  for i = 1, math.min(#text, 200) do
    local c = text:sub(i, i)
    out[i] = c:byte() < 32 and " " or c
  end
  return table.concat(out)
end

-- A spec's text as lines, from what model { ... } of an importer gave.
local function spec_lines(node, title)
  local args, known, lines, done = node.args, fields_of(public.model), {}, { layers = true }
  local before, layers = layers_text(args.layers)
  lines[1] = "-- " .. one_line(title) .. "; weights in " .. one_line(request.name)
    .. ".safetensors."
  for _, line in ipairs(before) do lines[#lines + 1] = line end
  if #before > 0 then lines[#lines + 1] = "" end
  lines[#lines + 1] = "return model {"
  local function row(names)
    local some = {}
    for _, name in ipairs(names) do some[name], done[name] = args[name], true end
    local list = entries(some, known, "  ")
    if #list > 0 then lines[#lines + 1] = "  " .. table.concat(list, ", ") .. "," end
  end
  for _, names in ipairs(rows) do row(names) end
  for name in pairs(args) do
    if not done[name] then row { name } end
  end
  lines[#lines + 1] = "  layers = " .. layers .. ","
  lines[#lines + 1] = "}"
  return lines
end

-- }==========================================================================
return { quote = quote, is_quoted = is_quoted, named = named, lines = spec_lines }
