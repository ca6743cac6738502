return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = attnres { blocks = 3 },          --> residual: expected at most 2 blocks, one per sublayer, found 3
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
