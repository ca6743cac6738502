-- Experts with softmax scores that are not normalized, two shared ones; attended in a route, too.
return model {
  name = "experts", vocab = 11, context = 9, dim = 8,
  norm = rmsnorm { eps = 1e-6 },
  residual = standard {},
  layers = {
    layer { attention { heads = 2, rope = {} },
            moe { experts = 3, top = 2, hidden = 5, score = "softmax", normalize = false, shared = 2 } },
    layer { attention { heads = 2, rope = {} }, moe { experts = 5, top = 1, hidden = 7 },
            route = mod { capacity = 0.5 } },
  },
}
