-- SPDX-License-Identifier: MIT
-- Five mixers in the paper's small family, trained briefly; docs/haares-small.md is what came out.
local o = option {
  mixer = { one_of = { "standard", "denseformer", "mhc", "attnres", "haares" },
            default = "standard", help = "how layers read each other" },
  layers = { type = "integer", min = 1, default = 48 },
  lr = { type = "number", above = 0, required = false, help = "peak; else the best of a sweep" },
}
local mixers = {
  standard = { residual = standard {}, lr = 2e-3 },
  denseformer = { residual = denseformer {}, lr = 2e-3 },
  mhc = { residual = mhc { streams = 4 }, lr = 2e-3 },
  attnres = { residual = attnres { blocks = 4 }, lr = 2e-3 },
  haares = { residual = haares { blocks = 4 }, lr = 1e-3 },
}
local m = mixers[o.mixer]

return require "shared.paper" {
  name = o.mixer .. "_small_" .. o.layers, size = "small", layers = o.layers,
  context = 256, batch = 4, residual = m.residual,
  lr = o.lr or m.lr, schedule = cosine { warmup = 0.05, min_lr = 1e-4 },
}
