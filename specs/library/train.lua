-- SPDX-License-Identifier: MIT
-- Optimizers and schedules.  'schedule' is the number of the kind in the
-- descriptor of a compiled model.
local share = { type = "number", min = 0, max = 1, default = 0 }
local rate = { type = "number", min = 0, default = 0 }
local patterns = { type = "list", of = { type = "string" } }

local function define(kind, name, fields, extra)
  publish(name, constructor(kind, function(given)
    local o = check(name, fields, given)
    for k, v in pairs(extra) do o[k] = v end
    if o.warmup and o.decay and o.warmup + o.decay > 1 then
      error(name .. ": expected warmup and decay to be at most 1 together, found "
        .. o.warmup + o.decay)
    end
    return object(kind, name, o)
  end, fields))
end

define("optimizer", "adamw", {
  lr = { type = "number", min = 0, default = 3e-4 },
  betas = { type = "list", count = 2, of = { type = "number", min = 0, below = 1 },
    default = { 0.9, 0.95 } },
  eps = { type = "number", min = 0, default = 1e-8 },
  weight_decay = { type = "number", min = 0, default = 0.01 },
  clip = { type = "number", above = 0, default = 1.0 },
}, {})

-- Matrices move against an orthogonal one near their momentum (Keller Jordan 2024; as
-- torch.optim.Muon has it, whose defaults these are).  adamw, an optimizer of its own rate, trains
-- the rest: tensors that are no matrices, and those that 'except' names.
local embeddings = { "embed.*", "head.*", "positions.*" }
define("optimizer", "muon", {
  lr = { type = "number", min = 0, default = 1e-3 },
  momentum = { type = "number", min = 0, below = 1, default = 0.95 },
  nesterov = { type = "boolean", default = true },
  steps = { type = "integer", min = 1, max = 100, default = 5 },
  weight_decay = { type = "number", min = 0, default = 0.1 },
  adjust = { type = "string", one_of = { "original", "match_rms_adamw" }, default = "original" },
  clip = { type = "number", above = 0, default = 1.0 },
  except = patterns,
  adamw = { type = "optimizer" },
}, {})

define("schedule", "constant", {}, { schedule = 0, warmup = 0, decay = 0, min_lr = 0 })
define("schedule", "cosine", { warmup = share, min_lr = rate }, { schedule = 1, decay = 0 })
define("schedule", "wsd", {
  warmup = share, decay = { type = "number", min = 0, max = 1, default = 0.1 }, min_lr = rate,
}, { schedule = 2 })

-- Muon's other optimizer is there, and none of its own kind.
function complete_optimizer(optimizer)
  local o = inside(optimizer)
  if o.name ~= "muon" then return end
  o.adamw = o.adamw or public.adamw {}
  if inside(o.adamw).name ~= "adamw" then
    error("muon: expected adamw to be an adamw { ... }, found a " .. inside(o.adamw).name)
  end
end

-- The field 'train' of a model.
train_fields = {
  optimizer = { type = "optimizer" }, schedule = { type = "schedule" },
  batch = { type = "integer", min = 1, max = (1 << 31) - 1, default = 8 },
  seed = { type = "integer", min = 0, default = 0 },
  freeze = patterns,
  groups = { type = "list", of = { type = "table", fields = {
    match = { type = "list", of = { type = "string" }, required = true },
    lr = { type = "number", min = 0 }, weight_decay = { type = "number", min = 0 } } } },
}

-- {== How each parameter is trained =========================================

-- The parameters that a pattern names, by number; it is a mistake if there are none.
local function named_by(what, pattern)
  local list = core.matching(pattern)
  if #list > 0 then return list end
  local names = {}
  for i, p in ipairs(core.parameters()) do names[p.name] = i end
  error(unknown(what .. ": expected patterns that match a parameter's name", "found '" .. pattern
    .. "', which matches none", pattern, names, true))
end

local function mark(what, list, set)
  for _, pattern in ipairs(list or {}) do
    for _, i in ipairs(named_by(what, pattern)) do set[i] = true end
  end
  return set
end

-- All but adapters and what the spec says is trained beside them.
local function freeze_base(lora, list, frozen)
  local trained = mark("lora.trained", lora.trained, {})
  for i, p in ipairs(list) do
    frozen[i] = frozen[i] or not trained[i] and not is_adapter(p.name)
  end
end

local function frozen_of(b, list)
  local frozen, some = mark("train.freeze", b.spec.train.freeze, {}), false
  if b.lora then freeze_base(b.lora, list, frozen) end
  for i, p in ipairs(list) do some = some or not frozen[i] and not p.buffer end
  if not some then
    error("train.freeze: expected at least one parameter that is trained, found all of them frozen")
  end
  return frozen
end

-- Which are Muon's: matrices, but for those that are excepted.
local function matrices(o, list)
  local except, muon, some = {}, {}, false
  if o.except then
    mark("muon.except", o.except, except)
  else
    for _, pattern in ipairs(embeddings) do
      for _, i in ipairs(core.matching(pattern)) do except[i] = true end
    end
  end
  for i, p in ipairs(list) do
    muon[i] = p.rank == 2 and not p.buffer and not except[i]
    some = some or muon[i]
  end
  if not some then error("muon: expected a matrix to train, found none") end
  return muon
end

-- A rate in units of the optimizer's, which the schedule and --lr change.
local function factor(what, lr, base)
  if not (base > 0) then
    error(what .. ": expected an optimizer with lr greater than 0 where parameters have rates of "
      .. "their own, found " .. base)
  end
  return lr / base
end

-- The first group of each parameter that has one.
local function groups_of(groups)
  local group = {}
  for g, o in ipairs(groups or {}) do
    if not o.lr and not o.weight_decay then
      error("train.groups: expected lr or weight_decay in group " .. g .. ", found neither")
    end
    for _, pattern in ipairs(o.match) do
      for _, i in ipairs(named_by("train.groups", pattern)) do group[i] = group[i] or o end
    end
  end
  return group
end

-- Tells core of each parameter that is not simply trained by the optimizer.
function tune(b)
  local train = b.spec.train
  local o, name = inside(train.optimizer), inside(train.optimizer).name
  if not (train.freeze or train.groups or b.lora or name == "muon") then return end
  local list = core.parameters()
  local frozen, group = frozen_of(b, list), groups_of(train.groups)
  local muon = name == "muon" and matrices(o, list)
  local other = muon and inside(o.adamw)
  for i in ipairs(list) do
    local lr, decay = nil, nil
    if muon and not muon[i] then lr, decay = other.lr, other.weight_decay end
    if group[i] then lr, decay = group[i].lr or lr, group[i].weight_decay or decay end
    core.tune(i, frozen[i] == true, muon and muon[i] or false,
      lr and factor(name, lr, o.lr), decay)
  end
end

-- What core.finish is told of the optimizer.
function optimizer_settings(train)
  local o = inside(train.optimizer)
  local s = { lr = o.lr, weight_decay = o.weight_decay, clip = o.clip, momentum = 0,
              newton_schulz = 0, muon = 0 }
  if o.name == "muon" then
    s.momentum, s.newton_schulz = o.momentum, o.steps
    s.muon = (o.nesterov and 1 or 0) + (o.adjust == "match_rms_adamw" and 2 or 0)
    o = inside(o.adamw)
  end
  s.beta1, s.beta2, s.eps = o.betas[1], o.betas[2], o.eps
  return s
end

-- }==========================================================================
