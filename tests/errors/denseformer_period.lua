return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = denseformer { period = 0 },          --> denseformer: expected period to be a positive integer, found the number 0
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
