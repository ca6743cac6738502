-- SPDX-License-Identifier: MIT
-- A model with a mixer of its own: sample/echo.lua, which is in no paper.
local echo = require "sample.echo"

return model {
  name = "own_mixer",
  vocab = 256, context = 256, dim = 128,
  tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 },
  residual = echo { speed = -1 },
  layers = times(6, layer {
    attention { heads = 4, qk_norm = true, rope = { theta = 10000 } },
    mlp { hidden = 384, activation = "swiglu" },
  }),
  train = { optimizer = adamw { lr = 1e-3 },
            schedule = cosine { warmup = 0.05, min_lr = 1e-4 },
            batch = 8, seed = 1 },
}
