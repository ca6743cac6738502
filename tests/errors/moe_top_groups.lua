return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    moe { experts = 8, top = 2, hidden = 16, groups = 2, top_groups = 3 }  --> moe: expected top_groups to be at most groups = 2, found 3
  } },
}
