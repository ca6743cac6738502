return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { full = true },          --> haares: expected fields out of bias, block_size, blocks, detail, eps, gamma, heads, init, kernel, key_gain, key_norm, query, rank, rms_match, scale, signs and value_norm, found 'full'
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
