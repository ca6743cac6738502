-- SPDX-License-Identifier: MIT
-- Annotations of the constructors for editors (LuaCATS), from the tables of
-- fields that check what a spec gives, so that both always say the same.
local env = ...

local function quoted(list)
  local out = {}
  for i, v in ipairs(list) do out[i] = type(v) == "string" and '"' .. v .. '"' or tostring(v) end
  return table.concat(out, "|")
end

local kinds = {
  norm = "strata.norm", mixer = "strata.mixer", sublayer = "strata.sublayer",
  layer = "strata.layer", route = "strata.route", optimizer = "strata.optimizer",
  schedule = "strata.schedule", model = "strata.model", init = "strata.init", lora = "strata.lora",
}

-- What defines a mixer, a sublayer or a route makes its constructor.
local definitions = {
  ["mixer constructor"] = "fun(options?: table): strata.mixer",
  ["route constructor"] = "fun(options?: table): strata.route",
  ["norm constructor"] = "fun(options?: table): strata.norm",
  ["sublayer constructor"] = "fun(options?: table): strata.sublayer",
}

local annotated

-- The type of a field; nested tables are written out.
local function type_of(field)
  local kind = field.type
  if field.any_of then
    local out = {}
    for i, f in ipairs(field.any_of) do out[i] = type_of(f) end
    return table.concat(out, "|")
  end
  if field.one_of then return quoted(field.one_of) end
  if kind == "list" then return "(" .. type_of(field.of) .. ")[]" end
  if kind == "table" then return annotated(field.fields) end
  return kinds[kind] or kind
end

-- "{ name: type, name?: type }"
function annotated(fields)
  local out = {}
  for _, name in ipairs(sorted_names(fields)) do
    local field = as_field(fields[name])
    out[#out + 1] = name .. (field.required and ": " or "?: ") .. type_of(field)
  end
  return "{ " .. table.concat(out, ", ") .. " }"
end

local function default_of(field)
  if type(field.default) == "table" or field.default == nil then return "" end
  return "; default " .. tostring(field.default)
end

local function add_class(lines, name, fields)
  lines[#lines + 1] = "---@class (exact) strata." .. name .. ".fields"
  for _, key in ipairs(sorted_names(fields)) do
    local field = as_field(fields[key])
    lines[#lines + 1] = "---@field " .. key .. (field.required and " " or "? ") .. type_of(field)
      .. " # " .. wanted(field) .. (field.required and "; required" or default_of(field))
  end
end

-- What is not a table of fields alone.
local special = {
  layer = { "---@param sublayers_and_route "
              .. "(strata.sublayer|strata.route)[]|{ route?: strata.route }",
            "---@return strata.layer", "function layer(sublayers_and_route) end" },
  times = { "---@param count integer", "---@param layers strata.layer|strata.layer[]",
            "---@return strata.layer[]", "function times(count, layers) end" },
  normal = { "---@param deviation number",
             "---@return strata.init", "function normal(deviation) end" },
  option = { "---@param options table<string, any>", "---@return table<string, any>",
             "function option(options) end" },
  print = { "---print(...): a line on standard error", "function print(...) end" },
  uniform = { "---@param low number", "---@param high number",
              "---@param map? fun(x: number): number",
              "---@return strata.init", "function uniform(low, high, map) end" },
}

local functions = {
  softcap = { "x, cap", "cap tanh(x / cap)" },
  cumsum = { "x, axis", "sums over the first i entries of an axis, by default of the last" },
  fill = { "value, shape", "a constant of a shape" }, zeros = { "shape", "zeros of a shape" },
  rope = { "x, options", "rotary position embedding of heads [tokens,H,d], with the fields of "
                           .. "attention's rope" },
}
for _, row in ipairs(activations.rows) do
  if row.help then functions[row.name] = { "x", row.help } end
end
for name, f in pairs(functions) do
  special[name] = { "---" .. name .. "(" .. f[1] .. "): " .. f[2], "---@return strata.tensor",
                    "function " .. name .. "(" .. f[1] .. ") end" }
end

-- Lines for every public constructor, in the order of their names.
return function()
  local lines = {}
  for _, name in ipairs(sorted_names(env)) do
    local fields, kind = fields_of(env[name]), constructs(env[name])
    if special[name] then
      for _, line in ipairs(special[name]) do lines[#lines + 1] = line end
      lines[#lines + 1] = ""
    elseif fields then
      add_class(lines, name, fields)
      lines[#lines + 1] = ""
      lines[#lines + 1] = "---@param fields strata." .. name .. ".fields"
      lines[#lines + 1] = "---@return " .. (kinds[kind] or definitions[kind])
      if core.ops[name] then
        lines[#lines + 1] = "---@overload fun(first: strata.tensor, ...): strata.tensor"
      end
      lines[#lines + 1] = "function " .. name .. "(fields) end"
      lines[#lines + 1] = ""
    end
  end
  return lines
end
