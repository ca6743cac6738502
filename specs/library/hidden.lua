-- SPDX-License-Identifier: MIT
-- A route that computes all tokens in training but hides some of them from the others (keys) says
-- so while its layer is built.  Operations that read other tokens must obey: attention does so by
-- gathering keys.  Other operations cannot, and would train on tokens that are absent in
-- generation, so they are refused.

-- The operand of which other tokens see rows.
local looks = { attention = 2, attention_lse = 2, conv = 1, recurrence = 2, shift = 1 }
local hiding

local function seen(name, place, op)
  return core.wrap(function(...)
    local form = hiding and core.form((core.lua.select(place, ...)))
    if form and form:sub(1, 7) == "[tokens" then
      error(name .. ": expected no route that hides tokens from others, found " .. hiding
        .. ": only attention can leave tokens out")
    end
    return op(...)
  end)
end

for name, place in pairs(looks) do core.ops[name] = seen(name, place, core.ops[name]) end

-- Calls build(...), which has two results, while 'route', a name or nil, hides tokens.
function hidden_by(route, build, ...)
  local outer = hiding
  hiding = route
  local first, second = build(...)
  hiding = outer
  return first, second
end
