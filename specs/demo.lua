-- SPDX-License-Identifier: MIT
-- A small HAARES model that learns to write in minutes on two cores.
return model {
  name = "demo",
  vocab = 256, context = 256, dim = 128,
  tokenizer = "bytes",
  embedding = { tied = true },
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { blocks = 4 },
  layers = times(6, layer {
    attention { heads = 4, rope = { theta = 10000 } },
    mlp { hidden = 384, activation = "swiglu" },
  }),
  train = { optimizer = adamw { lr = 2e-3, weight_decay = 0.05 },
            schedule = wsd { warmup = 0.05, decay = 0.3, min_lr = 1e-4 },
            batch = 8, seed = 1 },
}
