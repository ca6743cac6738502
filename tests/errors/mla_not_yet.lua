return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    mla { heads = 4 }          --> expected a constructor of this version, found 'mla', which is not in this version
  } },
}
