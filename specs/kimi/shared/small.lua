-- SPDX-License-Identifier: MIT
-- A Kimi Linear with 37 M parameters, 10 M of them per token, that trains on bytes, with any mixer.
return function(name, residual)
  return require "shared.family" {
    name = name, vocab = 256, context = 1024, dim = 256, tokenizer = "bytes",
    layers = 12, latent = { 3, 7, 11 },
    heads = 4, head_dim = 64,
    mla = { heads = 4, latent = 128, nope_dim = 64, rope_dim = 32, value_dim = 64 },
    dense = 672,
    experts = { experts = 16, top = 2, hidden = 224, shared = 1, scale = 2.446 },
    residual = residual,
    train = { optimizer = adamw { lr = 1e-3 }, schedule = constant {}, batch = 2, seed = 42 },
  }
end
