-- Mixture-of-Depths (arXiv 2404.02258): some tokens pass through a layer.
return model {
  name = "mod", vocab = 11, context = 9, dim = 8,
  norm = rmsnorm { eps = 1e-6 },
  residual = standard {},
  layers = {
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 }, route = mod { capacity = 0.5 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
  },
}
