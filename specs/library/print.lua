-- SPDX-License-Identifier: MIT
-- print(...) writes a line to standard error, with its place in front.  Tensors show their shapes,
-- tables a part of their contents.
local deepest, widest = 3, 16

local shown

local function item(key, value, depth)
  if math.type(key) == "integer" then return shown(value, depth) end
  local name = type(key) == "string" and key or "[" .. tostring(key) .. "]"
  return name .. " = " .. shown(value, depth)
end

-- Values inside of tables are as Lua would write them.
function shown(value, depth)
  if type(value) == "string" and depth > 0 then return "'" .. value .. "'" end
  local meta = type(value) == "table" and getmetatable(value)
  local own = type(meta) == "table" and meta.__tostring
  if core.form(value) then return tostring(value) .. ", " .. core.operation(value) end
  if type(value) ~= "table" or kind_of(value) or own then return tostring(value) end
  if depth == deepest then return "{ ... }" end
  local items = {}
  for key, inner in pairs(value) do
    if #items == widest then
      items[#items + 1] = "..."
      break
    end
    items[#items + 1] = item(key, inner, depth + 1)
  end
  return #items > 0 and "{ " .. table.concat(items, ", ") .. " }" or "{}"
end

publish("print", core.wrap(function(...)
  local words = table.pack(...)
  for i = 1, words.n do words[i] = shown(words[i], 0) end
  core.print(table.concat(words, " ", 1, words.n))
end))
