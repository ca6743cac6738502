-- SPDX-License-Identifier: MIT
-- The model that two-models generates from: another shape, another depth mixer.
return model {
  name = "writer",
  vocab = 256, context = 128, dim = 48,
  tokenizer = "bytes",
  norm = layernorm { eps = 1e-5 },
  residual = haares { blocks = 3 },
  layers = times(3, layer {
    attention { heads = 3, kv_heads = 1, rope = { theta = 10000 } },
    mlp { hidden = 96, activation = "gelu" },
  }),
  train = { optimizer = adamw { lr = 3e-3 }, batch = 8, seed = 2 },
}
