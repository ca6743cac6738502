-- SPDX-License-Identifier: MIT
-- The shape of SmolLM 360M: 361 821 120 parameters.
return model {
  name = "smollm_360m",
  vocab = 49152, context = 2048, dim = 960,
  embedding = { tied = true },
  norm = rmsnorm { eps = 1e-5 },
  layers = times(32, layer {
    attention { heads = 15, kv_heads = 5, rope = { theta = 10000 } },
    mlp { hidden = 2560, activation = "swiglu" },
  }),
  train = { optimizer = adamw { lr = 3e-4, clip = 0.1 },
            schedule = cosine { warmup = 0.1 },
            batch = 1 },
}
