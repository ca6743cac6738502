-- SPDX-License-Identifier: MIT
-- What exporters are made of: a description of a spec, tensors made of its parameters, and
-- configurations as text.  Its environment is the library's.
--   request: { spec = what the spec returned, target = "hf" or "gguf", tensors = }
local request = ...

-- {== The spec as plain tables ================================================

-- Which options are not what they are without being said: true, or such a table of those inside.
local function differing(options, known)
  local out = {}
  for name, v in pairs(options) do
    local field = known and known[name] ~= nil and as_field(known[name]) or {}
    if type(v) == "table" and field.fields then
      out[name] = differing(v, field.fields)
    elseif v ~= field.default and not (v == false and field.default == nil) then
      out[name] = true
    end
  end
  return out
end

-- What constructors make: { kind =, options =, differs = }
local function part_of(made)
  local o = inside(made)
  return { kind = o.name, options = o.options,
           differs = differing(o.options, o.definition.options) }
end

local function layer_of(layer)
  local l, out = inside(layer), { sublayers = {} }
  for i, s in ipairs(l.sublayers) do out.sublayers[i] = part_of(s) end
  out.route = l.route and inside(l.route).name
  out.parallel, out.share = l.parallel, l.share
  return out
end

local function norm_of(norm)
  if type(norm) == "boolean" or norm == nil then return norm end
  return part_of(norm)
end

local function described(returned)
  if kind_of(returned) ~= "model" then
    error("expected the spec to return model { ... }, found " .. describe(returned))
  end
  local m = inside(returned)
  local out = { name = m.name, vocab = m.vocab, context = m.context, dim = m.dim,
                tied = m.embedding.tied ~= false, embedding = m.embedding, logits = m.logits,
                norm = norm_of(m.norm), final_norm = norm_of(m.final_norm),
                mixer = { kind = inside(m.residual).name, options = inside(m.residual).options },
                layers = {} }
  local known = fields_of(public.model)
  out.embedding_differs = differing(m.embedding, known.embedding.fields)
  out.logits_differs = differing(m.logits, known.logits.fields)
  for i, layer in ipairs(m.layers) do out.layers[i] = layer_of(layer) end
  return out
end

-- }{== What a target cannot run ==============================================

-- refuse "layers.3: a route": the architecture is not this one; says why.
local refusal = {}
local function refuse(why) error(setmetatable({ why = why }, refusal), 0) end

-- }{== Configurations =========================================================

local function number_text(x)
  if math.type(x) == "integer" then return tostring(x) end
  for digits = 1, 17 do
    local s = ("%." .. digits .. "g"):format(x)
    if tonumber(s) == x then
      for i = 1, #s do
        local c = s:sub(i, i)
        if c == "." or c == "e" then return s end
      end
      return s .. ".0"
    end
  end
  return tostring(x)
end

local function quoted(s)
  local out = {}
  for i = 1, #s do
    local c = s:sub(i, i)
    out[i] = (c == '"' or c == "\\") and "\\" .. c or c:byte() < 32 and "?" or c
  end
  return '"' .. table.concat(out) .. '"'
end

-- JSON of a value; objects are lists of { name, value }, so that they have an order.
local null = {}
local function json(v, indent)
  if rawequal(v, null) then return "null" end
  if type(v) == "number" then return number_text(v) end
  if type(v) == "boolean" then return tostring(v) end
  if type(v) == "string" then return quoted(v) end
  local out, inner = {}, indent .. "  "
  for i, item in ipairs(v) do
    local named = type(item) == "table" and type(item[1]) == "string" and #item == 2
    out[i] = named and '"' .. item[1] .. '": ' .. json(item[2], inner) or json(item, inner)
  end
  if type(v[1]) ~= "table" then return "[" .. table.concat(out, ", ") .. "]" end
  return "{\n" .. inner .. table.concat(out, ",\n" .. inner) .. "\n" .. indent .. "}"
end

-- }{== Running one ===========================================================

local env = {}
for _, name in ipairs { "assert", "error", "ipairs", "math", "pairs", "pcall", "setmetatable",
                        "string", "table", "tostring", "type" } do
  env[name] = public[name]
end
for name, f in pairs(core.load("recipes.lua", public)) do env[name] = f end
env.refuse, env.tensors, env.null = refuse, request.tensors, null
env.activations = activations

local loaded = {}
function env.require(name)
  if loaded[name] == nil then
    loaded[name] = core.load("export/" .. name .. ".lua", setmetatable({}, { __index = env }))
  end
  return loaded[name]
end

local function why_of(message)
  if type(message) == "table" and getmetatable(message) == refusal then return message.why end
  error(message, 0)
end

-- { refused = why } or { architecture =, config = text, metadata = list, names =, recipes = }
local function run()
  local exporter, spec = env.require(request.target), described(request.spec)
  local ok, result = pcall(exporter, spec)
  if not ok then return { refused = why_of(result) } end
  if inside(request.spec).lora then
    error("lora: expected weights without adapters, which " .. result.architecture .. " has no "
      .. "place for, found a spec with them; put them into the weights: strata weights merge")
  end
  local out = { architecture = result.architecture, names = {}, recipes = {}, ignore = {},
                same = {}, metadata = result.metadata or {},
                config = result.config and json(result.config, "") or "" }
  for name, made in pairs(result.tensors) do
    out.names[#out.names + 1], out.recipes[#out.recipes + 1] = name, made
  end
  return out
end

return run
