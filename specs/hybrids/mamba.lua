-- SPDX-License-Identifier: MIT
-- Layers of shared/mamba.lua only, each of which is a whole layer.
return model {
  name = "mamba", vocab = 256, context = 512, dim = 128, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 },
  layers = times(6, layer { require "shared.mamba" {} }),
  train = { optimizer = adamw { lr = 2e-3 }, batch = 8 },
}
