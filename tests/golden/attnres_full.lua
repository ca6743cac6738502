-- Attention Residuals over all sublayers.
return model {
  name = "attnres_full", vocab = 11, context = 9, dim = 8,
  norm = rmsnorm { eps = 1e-6 },
  residual = attnres { full = true },
  layers = {
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
  },
}
