-- Optimizer and schedules.  'schedule' is the number of the kind in the
-- descriptor of a compiled model.
local share = { type = "number", min = 0, max = 1, default = 0 }
local rate = { type = "number", min = 0, default = 0 }

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
define("schedule", "constant", {}, { schedule = 0, warmup = 0, decay = 0, min_lr = 0 })
define("schedule", "cosine", { warmup = share, min_lr = rate }, { schedule = 1, decay = 0 })
define("schedule", "wsd", {
  warmup = share, decay = { type = "number", min = 0, max = 1, default = 0.1 }, min_lr = rate,
}, { schedule = 2 })
