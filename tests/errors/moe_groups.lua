return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    moe { experts = 8, top = 2, hidden = 16, groups = 3 }  --> moe: expected groups to divide experts = 8, found 3
  } },
}
