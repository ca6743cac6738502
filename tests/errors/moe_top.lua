return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    moe { experts = 8, top = 5, hidden = 16, groups = 4, top_groups = 2 }  --> moe: expected top to be at most 4, the experts there are to choose from, found 5
  } },
}
