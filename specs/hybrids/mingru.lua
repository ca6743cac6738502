-- SPDX-License-Identifier: MIT
-- Layers of shared/mingru.lua, whose cost does not grow with the context, and one of attention.
local recurrent = layer { require "shared.mingru" {}, mlp { hidden = 384 } }
local attends = layer { attention { heads = 4 }, mlp { hidden = 384 } }
return model {
  name = "mingru", vocab = 256, context = 512, dim = 128, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 },
  layers = { recurrent, recurrent, attends, recurrent },
  train = { optimizer = adamw { lr = 2e-3 }, batch = 8 },
}
