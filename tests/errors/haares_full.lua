return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { full = true },          --> haares: expected fields out of bias, block_size, blocks, detail, gamma, heads, kernel, key_gain, key_norm, query, rank, rms_match and signs, found 'full'
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
