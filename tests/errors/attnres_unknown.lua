return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = attnres { block = 2 },          --> attnres: expected fields out of block_size, blocks, eps, full, heads, kernel, key_gain, key_norm, query, rank, scale, value_norm and window, found 'block'; did you mean 'blocks'?
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
