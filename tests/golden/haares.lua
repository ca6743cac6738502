-- HAARES (arXiv 2606.06564).
return model {
  name = "haares", vocab = 11, context = 9, dim = 8,
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { blocks = 2 },
  layers = {
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
  },
}
