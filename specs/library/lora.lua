-- SPDX-License-Identifier: MIT
-- Low-rank adapters (arXiv 2106.09685): a product W x of m:linear that is a target becomes
--   W x + alpha / rank B A x      A [rank, in] normal, B [out, rank] zeros
-- The first step computes what the base does.  Adapters of NAME.weight are NAME.lora_a.weight and
-- NAME.lora_b.weight, so that a file of the base fits; the base is frozen but for 'trained'.
local fields = {
  rank = { type = "integer", min = 1, max = 65536, required = true },
  alpha = { type = "number", above = 0 },               -- by default the rank
  targets = { type = "list", of = { type = "string" }, required = true },
  trained = { type = "list", of = { type = "string" }, default = {} },
}

local function make(given)
  local o = check("lora", fields, given)
  o.alpha = o.alpha or o.rank
  if #o.targets == 0 then
    error("lora: expected targets, patterns such as '*.attention.q', found none")
  end
  return object("lora", "lora", o)
end

publish("lora", constructor("lora", make, fields))

-- lora { ... }, or its table alone
lora_field = { any_of = { { type = "lora" }, { type = "table", fields = fields } } }

-- The model's adapters, or nil.
function lora_of(given)
  if given == nil then return nil end
  local o = kind_of(given) and inside(given) or inside(make(given))
  return { rank = o.rank, scale = o.alpha / o.rank, targets = o.targets, trained = o.trained,
           used = {}, seen = {} }
end

function is_adapter(name)
  return name:sub(-14) == ".lora_a.weight" or name:sub(-14) == ".lora_b.weight"
end

local function is_target(lora, name)
  local found = false
  lora.seen[name] = true
  for i, pattern in ipairs(lora.targets) do
    if core.matches(pattern, name) or core.matches(pattern, name .. ".weight") then
      lora.used[i], found = true, true
    end
  end
  return found
end

-- y, which is W x, with the adapters of W if it is a target.  'param' makes a parameter of a name.
function with_adapters(lora, name, x, y, param)
  if not lora or not is_target(lora, name) then return y end
  local k, out = x:shape()[1], y:shape()[1]
  local a = param("lora_a.weight", { lora.rank, k }, normal(k ^ -0.5))
  local b = param("lora_b.weight", { out, lora.rank }, 0)
  return y + linear(linear(x, a) * lora.scale, b)
end

-- Once all of the model is there; 'tied': whether the head is the embedding's matrix.
function check_targets(lora, tied)
  if not lora then return end
  for i, pattern in ipairs(lora.targets) do
    if not lora.used[i] and tied and (core.matches(pattern, "head")
      or core.matches(pattern, "head.weight")) then
      error("lora: expected targets that match a product of m:linear, found '" .. pattern
        .. "': the head is tied to the embedding and has no matrix of its own; "
        .. "embedding = { tied = false } gives it one")
    end
    if not lora.used[i] then
      error(unknown("lora: expected targets that match a product of m:linear", "found '" .. pattern
        .. "', which matches none", pattern, lora.seen, true))
    end
  end
end
