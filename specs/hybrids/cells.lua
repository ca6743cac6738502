-- SPDX-License-Identifier: MIT
-- A sublayer that is in no paper, shared/cell.lua, between attention and MLP; HAARES reads all.
return model {
  name = "cells", vocab = 256, context = 512, dim = 128, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { block_size = 3 },
  layers = times(4, layer {
    attention { heads = 4, window = 64 }, require "shared.cell" {}, mlp { hidden = 384 },
  }),
  train = { optimizer = adamw { lr = 2e-3 }, batch = 8 },
}
