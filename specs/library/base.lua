-- SPDX-License-Identifier: MIT
-- The subset of Lua's own library that specs have.  Functions are written here in Lua so that the
-- instruction limit counts them, or so that their order is defined: tables are visited numbers
-- first, then strings by their bytes, then false and true, whatever the order in which they were
-- filled.
local core = ...
local lua = core.lua
local error, type, tostring = lua.error, lua.type, lua.tostring
local rawget, rawlen = lua.rawget, lua.rawlen
local longest = 16384

local function expect_table(what, t)
  if type(t) ~= "table" then
    error(what .. ": expected a table, found " .. (t == nil and "nothing" or "a " .. type(t)))
  end
end

local function expect_integer(what, n)
  local i = type(n) == "number" and lua.math.tointeger(n)
  if not i then error(what .. ": expected an integer, found " .. tostring(n)) end
  return i
end

-- {== Order =================================================================

-- Merges the sorted runs a[i .. m-1] and a[m .. j-1] into b.
local function merge(a, b, i, m, j, less)
  local p, q = i, m
  for k = i, j - 1 do
    if p < m and (q >= j or not less(a[q], a[p])) then
      b[k], p = a[p], p + 1
    else
      b[k], q = a[q], q + 1
    end
  end
end

-- Stable, and harmless whatever 'less' says.
local function sort(list, less)
  expect_table("sort", list)
  less = less or function(a, b) return a < b end
  local n, a, b, width = rawlen(list), {}, {}, 1
  for i = 1, n do a[i] = rawget(list, i) end
  while width < n do
    for i = 1, n, 2 * width do
      local m = i + width < n + 1 and i + width or n + 1
      merge(a, b, i, m, m + width < n + 1 and m + width or n + 1, less)
    end
    a, b, width = b, a, 2 * width
  end
  for i = 1, n do list[i] = a[i] end
end

local function pairs(t)
  local list, i = lua.keys("pairs", t), 0
  return function()
    local k, v
    repeat
      i = i + 1
      k = list[i]
      v = k ~= nil and rawget(t, k)
    until k == nil or v ~= nil
    return k, v
  end
end

-- }{== Lists ================================================================

local list = { sort = sort }

function list.insert(t, ...)
  expect_table("insert", t)
  local n, at, value = rawlen(t), ...
  if lua.select("#", ...) == 1 then at, value = n + 1, at end
  at = expect_integer("insert", at)
  if at < 1 or at > n + 1 then
    error("insert: expected a place from 1 to " .. n + 1 .. ", found " .. at)
  end
  for i = n, at, -1 do t[i + 1] = t[i] end
  t[at] = value
end

function list.remove(t, at)
  expect_table("remove", t)
  local n = rawlen(t)
  at = at == nil and n or expect_integer("remove", at)
  if n == 0 then return nil end
  if at < 1 or at > n then error("remove: expected a place from 1 to " .. n .. ", found " .. at) end
  local value = t[at]
  for i = at, n - 1 do t[i] = t[i + 1] end
  t[n] = nil
  return value
end

function list.concat(t, separator, first, last)
  expect_table("concat", t)
  local text = ""
  first, last = first or 1, last or rawlen(t)
  for i = first, last do
    text = text .. t[i] .. (i < last and separator or "")
  end
  return text
end

function list.pack(...)
  return { n = lua.select("#", ...), ... }
end

function list.unpack(t, first, last)
  expect_table("unpack", t)
  first, last = expect_integer("unpack", first or 1), expect_integer("unpack", last or rawlen(t))
  if last >= first and (last - first < 0 or last - first >= 250) then
    error("unpack: expected at most 250 values, found more")
  end
  return lua.table.unpack(t, first, last)
end

function list.move(from, first, last, at, to)
  expect_table("move", from)
  to = to or from
  expect_table("move", to)
  first, last = expect_integer("move", first), expect_integer("move", last)
  at = expect_integer("move", at)
  if at > first then
    for i = last, first, -1 do to[at + i - first] = from[i] end
  else
    for i = first, last do to[at + i - first] = from[i] end
  end
  return to
end

-- }{== Strings and errors ===================================================

local text = {}
for name, f in pairs(lua.string) do text[name] = f end

function text.rep(s, n, separator)
  n, separator = expect_integer("rep", n), separator or ""
  if type(s) ~= "string" or type(separator) ~= "string" then
    error("rep: expected a string, found a " .. type(s))
  end
  if n < 1 then return "" end
  if n > longest or (#s + #separator) * n > longest then
    error("rep: expected a string of at most " .. longest .. " bytes, found more")
  end
  if #s + #separator == 0 then return "" end -- repeating nothing would cost nothing
  return lua.string.rep(s, n, separator)
end

local function assert(value, message, ...)
  if not value then
    error(message == nil and "expected a condition to hold, found that it does not" or message)
  end
  return value, message, ...
end

-- }==========================================================================

local env = {
  assert = assert, error = error, getmetatable = lua.getmetatable, ipairs = lua.ipairs,
  next = lua.next, pairs = pairs, pcall = lua.pcall,
  rawequal = lua.rawequal, rawget = rawget, rawlen = rawlen, rawset = lua.rawset,
  setmetatable = lua.setmetatable, tonumber = lua.tonumber, tostring = tostring, type = type,
  math = lua.math, string = text, table = list,
}
-- Lua functions a spec calls are wrapped: a tail call would hide its line.
for _, name in lua.ipairs { "assert", "pairs" } do env[name] = core.wrap(env[name]) end
for _, name in lua.ipairs { "concat", "insert", "move", "pack", "remove", "sort", "unpack" } do
  list[name] = core.wrap(list[name])
end
text.rep = core.wrap(text.rep)

-- Methods of strings: s:rep(2).
lua.setstringmeta { __index = text, __metatable = false }
return env
