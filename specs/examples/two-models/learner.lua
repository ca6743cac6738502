-- SPDX-License-Identifier: MIT
-- The model that two-models trains: small, so that a hundred steps take seconds.
return model {
  name = "learner",
  vocab = 256, context = 64, dim = 64,
  tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 },
  residual = standard {},
  layers = times(2, layer {
    attention { heads = 4, rope = { theta = 10000 } },
    mlp { hidden = 128, activation = "swiglu" },
  }),
  train = { optimizer = adamw { lr = 3e-3 }, batch = 8, seed = 1 },
}
