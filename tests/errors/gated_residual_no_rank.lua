return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = gated_residual { streams = 4 },          --> gated_residual: expected the field 'rank', a positive integer, found none
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
