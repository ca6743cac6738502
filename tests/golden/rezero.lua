-- ReZero (arXiv 2003.04887): a learned scale for each sublayer.
return model {
  name = "rezero", vocab = 11, context = 9, dim = 8,
  norm = rmsnorm { eps = 1e-6 },
  residual = rezero {},
  layers = {
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
  },
}
