-- Manifold-constrained hyper-connections (arXiv 2512.24880).
return model {
  name = "mhc", vocab = 11, context = 9, dim = 8,
  norm = rmsnorm { eps = 1e-6 },
  residual = mhc { streams = 2 },
  layers = {
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
  },
}
