-- SPDX-License-Identifier: MIT
-- Makes the environment that specs run in, and 'build', which turns the model
-- a spec returned into a graph.  Library files see 'lib'; specs, mixers and
-- routes see copies of 'public', so that nothing one does changes another's.
local core = ...
local lib = core.load("base.lua", {}, core)
local public = {}
for name, value in lib.pairs(lib) do public[name] = value end

lib.core, lib.public, lib.ops = core, public, core.ops
core.load("hidden.lua", lib)
for name, op in lib.pairs(core.ops) do
  lib[name], public[name] = lib[name] or op, op
end

-- A public name may also be a primitive's: attention(q, k, v) and attention {...}.
function lib.publish(name, value)
  local op = core.ops[name]
  public[name] = not op and value or lib.constructor(lib.constructs(value), function(first, ...)
    if core.form(first) then return op(first, ...) end
    return value(first, ...)
  end, lib.fields_of(value))
end

lib.activations = core.load("activations.lua", lib)
for _, file in lib.ipairs { "fields", "elsewhere", "functions", "options", "print", "train",
                            "parts", "lora", "machine", "lists", "sites", "routing",
                            "model" } do
  core.load(file .. ".lua", lib)
end

-- A copy of the public names, where unknown ones are errors.
local function environment()
  local env = {}
  for name, value in lib.pairs(public) do
    env[name] = value
    if lib.type(value) == "table" then
      env[name] = {}
      for k, v in lib.pairs(value) do env[name][k] = v end
    end
  end
  return lib.setmetatable(env, { __metatable = false, __index = function(_, name)
    if lib.type(name) ~= "string" then return nil end
    local found, here = "found '" .. name .. "'", lib.elsewhere[name]
    if here then lib.error("expected a name that is defined, " .. found .. ": it is " .. here) end
    lib.error(lib.unknown("expected a name that is defined", found, name, public))
  end })
end

-- Registers what the files of a folder return; 'require' there loads its files.
local function register(folder, kind, env)
  local loaded = {}
  function env.require(name)
    if loaded[name] == nil then loaded[name] = core.load(folder .. "/" .. name .. ".lua", env) end
    return loaded[name]
  end
  for _, file in lib.ipairs(core.files()) do
    if lib.string.sub(file, 1, #folder + 1) == folder .. "/" then
      local name = lib.string.sub(file, #folder + 2, -5)
      local value = env.require(name)
      if lib.constructs(value) == kind then lib.publish(name, value) end
    end
  end
end

register("norms", "norm", lib.setmetatable({}, { __index = lib }))
register("layers", "sublayer", lib.setmetatable({}, { __index = lib }))
register("mixers", "mixer", environment())
register("routes", "route", environment())

local env = environment()
env.require = core.requirer(env)

-- Every path to a value that a spec can follow, with the value's type.
local function reachable()
  local seen, lines = {}, {}
  local function walk(path, value)
    local kind = lib.type(value)
    lib.table.insert(lines, path .. " " .. kind)
    if kind ~= "table" or seen[value] then return end
    seen[value] = true
    for k, v in lib.pairs(value) do walk(path .. "." .. lib.tostring(k), v) end
  end
  for _, name in lib.ipairs(lib.sorted_names(env)) do walk(name, env[name]) end
  walk("m", lib.machine({ spec = { layers = {} }, methods = {} }, {}))
  for _, value in lib.ipairs { env, "", lib.ops.tokens(), env.standard {} } do
    walk("getmetatable(" .. lib.type(value) .. ")", lib.getmetatable(value))
  end
  return lib.table.concat(lines, "\n") .. "\n"
end

local function names() return lib.sorted_names(env) end

return { library = lib, environment = env, build = lib.build, reachable = reachable, names = names,
         meta = core.load("meta.lua", lib, env) }
