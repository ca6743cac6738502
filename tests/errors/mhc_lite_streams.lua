return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = mhc { streams = 6, lite = true },          --> mhc: expected at most 5 streams with lite, which has streams! weights, found 6
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
