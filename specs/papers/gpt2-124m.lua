-- SPDX-License-Identifier: MIT
-- The shape of GPT-2's smallest model: 124 439 808 parameters.
return model {
  name = "gpt2_124m",
  vocab = 50257, context = 1024, dim = 768,
  embedding = { tied = true, positions = "learned" },
  norm = layernorm { eps = 1e-5 },
  layers = times(12, layer {
    attention { heads = 12, bias = true },
    mlp { hidden = 3072, activation = "gelu", bias = true },
  }),
  train = { optimizer = adamw { lr = 6e-4, betas = { 0.9, 0.95 }, weight_decay = 0.1 },
            schedule = cosine { warmup = 0.01, min_lr = 6e-5 }, batch = 4 },
}
