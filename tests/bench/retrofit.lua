-- SPDX-License-Identifier: MIT
-- The model of docs/retrofit.md, with a plain residual stream; retrofit.sh puts other mixers under
-- its weights.
return model {
  name = "base", vocab = 256, context = 128, dim = 64, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 },
  layers = times(6, layer {
    attention { heads = 4, rope = { theta = 10000 } },
    mlp { hidden = 192, activation = "swiglu" },
  }),
  train = { optimizer = adamw { lr = 4e-3 }, schedule = cosine { warmup = 0.05, min_lr = 1e-4 },
            batch = 8, seed = 1 },
}
