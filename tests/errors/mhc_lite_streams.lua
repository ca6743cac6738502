return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = mhc { streams = 4 },          --> expected a constructor of this version, found 'mhc', which is not in this version
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
