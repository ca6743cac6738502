-- DTRNet (arXiv 2509.00925): some tokens attend.
return model {
  name = "dtr", vocab = 11, context = 9, dim = 8,
  norm = rmsnorm { eps = 1e-6 },
  residual = standard {},
  route_penalty = 8e-4,
  layers = {
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 }, route = dtr {} },
    layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } },
  },
}
