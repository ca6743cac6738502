-- SPDX-License-Identifier: MIT
-- A small model with every main kernel in it: what counts.sh counts the instructions of.
return model {
  name = "counts",
  vocab = 256, context = 256, dim = 64,
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { blocks = 2 },
  layers = times(2, layer {
    attention { heads = 2, kv_heads = 1, rope = { theta = 10000 } },
    mlp { hidden = 160, activation = "swiglu" },
  }),
}
