return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = attnres { blocks = 1, full = true },          --> residual: expected exactly one of the options that say what a block is, blocks, block_size or full, found 2
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
