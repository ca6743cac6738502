-- SPDX-License-Identifier: MIT
-- Kimi Linear 48B-A3B as the Attention Residuals report trains it: 49.1 B parameters, blocks of six
-- sublayers.
return require "shared.family" {
  name = "kimi_linear_48b", vocab = 163840, context = 4096, dim = 2304,
  layers = 27, latent = { 3, 7, 11, 15, 19, 23, 26 },
  heads = 32, head_dim = 128,
  mla = { heads = 32, latent = 512, nope_dim = 128, rope_dim = 64, value_dim = 128 },
  dense = 9216,
  experts = { experts = 256, top = 8, hidden = 1024, shared = 1, scale = 2.446 },
  residual = attnres { block_size = 6 },
}
