-- SPDX-License-Identifier: MIT
-- What importers are made of: reading config.json (config_fields.lua), tensors made of stored
-- tensors (../recipes.lua), and specs as data that are written as text (spec_text.lua).  Its
-- environment is the library's; importers see what is in 'env'.  See ../importers.md.
--   request: { config =, tensors =, null =, path =, name =, identifier =, tokenizer =, own = }
--   stored, numbers: how many tensors there are, and numbers in them
--   own: whether the importer is a file of the user's
--   residual, route: Lua text for these fields of the model and of each layer, or nil
local request = ...
local null = request.null

local config = core.load("import/config_fields.lua", _ENV, request)
local text = core.load("import/spec_text.lua", _ENV, request, config)
local refuse, show = config.refuse, config.show

local env = {}
for name, value in pairs(public) do
  if core.ops[name] == nil and constructs(value) then env[name] = text.quote(name) end
end
for _, name in ipairs { "assert", "error", "getmetatable", "ipairs", "math", "next", "pairs",
                        "pcall", "rawequal", "rawget", "rawlen", "rawset", "setmetatable",
                        "string", "table", "tonumber", "tostring", "type" } do
  env[name] = public[name]
end
for _, name in ipairs { "attention", "recurrence" } do
  if constructs(public[name]) then env[name] = text.quote(name) end
end
for name, f in pairs(core.load("recipes.lua", public)) do env[name] = f end
env.fields, env.refuse, env.null = config.fields, refuse, null
env.activations = activations
env.named, env.quote = text.named, text.quote
-- The model that this becomes: its name, and the file that its tokenizer is in (nil: none).
env.name, env.tokenizer = request.identifier, request.tokenizer
env.numbers = request.numbers  -- of all tensors: no model has more experts

local loaded = {}

-- builtin "llama": what the library's file import/llama.lua returns.
function env.builtin(name)
  if loaded[name] == nil then
    loaded[name] = core.load("import/" .. name .. ".lua", setmetatable({}, { __index = env }))
  end
  return loaded[name]
end
env.require = request.own and core.requirer(env) or env.builtin
setmetatable(env, { __metatable = false, __index = function(_, name)
  error(unknown("expected a name that is defined", "found '" .. tostring(name) .. "'",
    tostring(name), env))
end })

-- Files of import/ that are no importers.
local helper = { kit = true, config_fields = true, spec_text = true, common = true, experts = true,
                 class = true, classes = true }

-- Of a model of several parts: what its text model is.
local function inner_kind()
  local inner = request.config.text_config
  local kind = type(inner) == "table" and inner.model_type
  if type(kind) ~= "string" then return "" end
  return ", with text_config.model_type '" .. kind:sub(1, 60) .. "'"
end

-- The importer for the folder's model_type.
local function choose()
  local kind = request.config.model_type
  local known = {}
  for _, file in ipairs(core.importers()) do
    local name = file:sub(#"import/" + 1, -5)
    if name == kind and not helper[name] then return env.builtin(name) end
    if not helper[name] then known[#known + 1] = name end
  end
  refuse("model_type", "one of " .. enumerate(known, "and")
    .. ", or --importer FILE.lua", (kind == nil and "none" or show(kind)) .. inner_kind())
end

-- Another mixer or route, as the command line says it.
local function retrofit(spec)
  if request.residual then spec.args.residual = { text = request.residual } end
  for _, layer in ipairs(request.route and spec.args.layers or {}) do
    layer.args.route = { text = request.route }
  end
end

local function lines_of(result)
  local spec = result.spec
  if text.is_quoted(spec) and spec.call == "model" then
    spec.args.name = spec.args.name or request.identifier
    spec.args.tokenizer = spec.args.tokenizer or request.tokenizer
    retrofit(spec)
    local names = request.config.architectures
    local title = type(names) == "table" and type(names[1]) == "string" and names[1]
      or tostring(request.config.model_type)
    return text.lines(spec, title)
  end
  if request.residual or request.route then
    error("importer: expected spec to be model { ... } where " .. (request.residual and "--residual"
      or "--route") .. " changes it, found " .. show(spec))
  end
  if type(spec) == "string" then return { spec } end
  if type(spec) == "table" and not text.is_quoted(spec) then return spec end
  error("importer: expected spec to be model { ... } or text, found " .. show(spec))
end

-- { spec = lines, names = list, recipes = list, ignore = list, same = list of pairs }
local function run(importer)
  if not request.own then importer = choose() end
  if type(importer) ~= "function" then
    error("importer: expected a function of config and tensors, found " .. show(importer))
  end
  local result = importer(request.config, request.tensors)
  if type(result) ~= "table" then
    error("importer: expected { spec =, tensors = } to be returned, found " .. show(result))
  end
  local out = { spec = lines_of(result), names = {}, recipes = {}, ignore = result.ignore or {},
                same = {} }
  if type(result.tensors) ~= "table" then
    error("importer: expected tensors to be a table, found " .. show(result.tensors))
  end
  for name, made in pairs(result.tensors) do
    out.names[#out.names + 1], out.recipes[#out.recipes + 1] = name, made
  end
  for name, other in pairs(result.same or {}) do out.same[#out.same + 1] = { name, other } end
  return out
end

return { environment = env, run = run }
