-- SPDX-License-Identifier: MIT
-- What routes ask of sublayers: body { rows = list, mask = mask, bypass = "vo" } makes them work on
-- the tokens of the list, body { keys = list, mask = mask } lets tokens see only those of the list.
-- A sublayer that reads the list itself (site.routed.rows, its mask or bypass) gets all tokens and
-- handles the list.  For any other sublayer the list's rows are gathered before its norm, and its
-- result is scattered after its norms: the other tokens get 0.
local known = { rows = true, mask = true, bypass = true, keys = true }
local bypasses = { vo = true, none = true, auto = true }
local answers = { rows = true, mask = true, bypass = true }
local restart = {}            -- ends an attempt: the sublayer answers for the list itself

-- The mean of a loss, a number or one per token: over all tokens, or those of its list; 0 of none.
function mean_loss(loss)
  local list = core.list_of(loss)
  if list then
    return token_sum(loss) / max(token_sum(step(core.mask_of(list))), 1)
  end
  return core.form(loss) == "[]" and loss or token_sum(loss) * per_token()
end

-- "tokens", or "rows1" of x that has rows of a list
function lead_of(x)
  local tail = ""
  for _, length in ipairs(x:shape()) do tail = tail .. "," .. length end
  return core.form(x):sub(2, -#tail - 2)
end

-- Whether a loss is one: a number, or one per token, perhaps of a list's.
function is_loss(loss)
  local form = core.form(loss)
  return form == "[]" or form == "[tokens]" or core.list_of(loss) ~= nil and #loss:shape() == 0
end

-- Runs f on the tokens of a list (nil: all), which those of its places and ids are.
function on_tokens(b, list, lead, f, ...)
  local before, outer = core.work_on(list), b.lead
  b.lead, b.list = lead, list
  local first, second = f(...)
  core.work_on(before)
  b.lead, b.list = outer, before
  return first, second
end

-- What was left to later sublayers, of the tokens that are worked on.
function kept_of(b, name, x)
  local list = core.list_of(x)
  if list == b.list then return x end
  if list then
    error("kept: expected '" .. name .. "' of all tokens that are worked on, found " .. core.form(x)
      .. " of a route's list, which has none of the others")
  end
  return core.form(x):sub(1, 7) == "[tokens" and gather(x, b.list) or x
end

local function check_asked(name, given)
  local function wrong(found)
    error(name .. ": expected body to get " .. found)
  end
  for _, field in ipairs { "rows", "keys" } do
    local list = given[field]
    if list ~= nil and not core.mask_of(list) then
      wrong(field .. " = rows(mask), found " .. (core.form(list) or describe(list)))
    end
  end
  if given.rows and given.keys then
    wrong("rows, of tokens that work, or keys, of tokens that others see, found both")
  end
  if given.mask ~= nil and core.form(given.mask) ~= "[tokens]" then
    wrong("a mask [tokens], found " .. (core.form(given.mask) or describe(given.mask)))
  end
  if given.mask ~= nil and not given.rows and not given.keys then
    wrong("rows or keys with a mask, found neither")
  end
  if given.bypass ~= nil and not bypasses[given.bypass] then
    wrong("bypass = 'vo', 'none' or 'auto', found " .. describe(given.bypass))
  end
  if given.bypass ~= nil and not given.rows then wrong("rows with a bypass, found none") end
end

-- What run gave to body, checked: fields, and which of them sublayers read.  nil: nothing.
function asked_of(name, given, example)
  if given == nil then return nil end
  if type(given) ~= "table" or kind_of(given) then
    error(name .. ": expected body" .. example .. ", found "
      .. (core.form(given) and "a tensor " .. core.form(given) or describe(given)))
  end
  check_asked(name, given)
  local fields, list = {}, given.rows or given.keys
  for key, value in pairs(given) do fields[key] = value end
  if list and fields.mask == nil then fields.mask = step(core.mask_of(list)) end
  return { fields = fields, seen = {} }
end

-- Refuses what no sublayer heeded.
function expect_heeded(name, asked)
  if not asked then return end
  if asked.fields.bypass == "vo" and not asked.seen.bypass then
    error(name .. ": expected bypass = 'none', or 'auto', which is 'vo' where a sublayer passes "
      .. "values on as attention does, found 'vo' at " .. asked.site)
  end
  for field in pairs(asked.fields) do
    if not known[field] and not asked.seen[field] then
      error(unknown(name .. ": expected body to get rows, mask, bypass, keys or what a sublayer "
        .. "reads in site.routed", "found '" .. tostring(field) .. "'", tostring(field), known))
    end
  end
end

-- What a sublayer sees as site.routed.  'attempt': it is given the list's rows, as if it did not
-- ask for them.
local function view(asked, attempt)
  return setmetatable({}, { __metatable = false, __index = function(_, field)
    if attempt and answers[field] then
      attempt.ended = true
      error(restart)
    end
    asked.seen[field] = true
    local value = asked.fields[field]
    return field == "bypass" and value == "auto" and "vo" or value
  end })
end

local function each(x, f)
  if core.form(x) then return f(x) end
  local all = {}
  for name, part in pairs(x) do all[name] = f(part) end
  return all
end

-- compute(x, routed, lead) on the rows of a list; nil: the sublayer looks at the list itself.
local function on_rows(b, x, asked, compute)
  local list, attempt = asked.fields.rows, {}
  local losses, kept, lead, rules = #b.losses, #b.kept, b.lead, b.rules
  local part = each(x, function(h) return gather(h, list) end)
  local one = core.form(part) and part or part[sorted_names(part)[1]]
  asked.lead = lead_of(one)
  local done, out = core.attempt(restart, on_tokens, b, list, asked.lead, compute, part,
    view(asked, attempt), asked.lead)
  if done and not attempt.ended then return scatter(out, list) end
  core.work_on(nil)
  b.lead, b.list = lead, nil
  if b.rules ~= rules then
    error("rule: expected site.routed to be read before m:rule() is called, found it behind that")
  end
  while #b.losses > losses do table.remove(b.losses) end
  while #b.kept > kept do table.remove(b.kept) end
end

-- Among the rows of a list those of another one: the same on all tokens, for those in both.
local function within(b, x, asked, outer, compute)
  local mask = step(core.mask_of(outer)) * step(core.mask_of(asked.fields.rows))
  local fields = {}
  for key, value in pairs(asked.fields) do fields[key] = value end
  fields.rows, fields.mask = rows(mask), mask
  local inner = { fields = fields, seen = asked.seen, site = asked.site }
  local all = each(x, function(h) return scatter(h, outer) end)
  return gather(on_tokens(b, nil, "tokens", heeding, b, all, inner, compute), outer)
end

-- A sublayer that answers for the list may return its rows only.
local function answered(asked, x, compute)
  local out = compute(x, view(asked), asked.lead)
  return core.list_of(out) and scatter(out, asked.fields.rows) or out
end

-- Of the tokens of x alone nothing is left to choose; what the user's own fields ask is.
local function chosen_already(asked)
  local fields = {}
  for field, value in pairs(asked.fields) do
    if not known[field] then fields[field] = value end
  end
  asked.seen.bypass = true
  return { fields = fields, seen = asked.seen }
end

-- compute(x, routed, lead) for what a route asks: what a sublayer makes of x, one stream or more.
-- 'lead': of which tokens, beside those of x, its result may have rows.
function heeding(b, x, asked, compute)
  if not asked then return compute(x) end
  local one = core.form(x) and x or x[sorted_names(x)[1]]
  local outer, list = core.list_of(one), asked.fields.rows
  if outer and asked.fields.keys then
    error(b.route.name .. ": expected all tokens with keys, found body to work on some")
  end
  if outer and list == outer then return compute(x, view(chosen_already(asked))) end
  if not list then return compute(x, view(asked)) end
  if outer then return within(b, x, asked, outer, compute) end
  return on_rows(b, x, asked, compute) or answered(asked, x, compute)
end
