-- Depth Routing Residuals, causal.
return model {
  name = "drr", vocab = 11, context = 9, dim = 8,
  norm = rmsnorm { eps = 1e-6 },
  residual = drr { heads = 2, causal = true, chunk = 4 },
  layers = {
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
  },
}
