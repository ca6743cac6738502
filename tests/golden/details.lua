-- HAARES with a short last block and signs of its own.
return model {
  name = "details", vocab = 13, context = 12, dim = 12,
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { block_size = 4, detail = "random", signs = { 1, -1, -1, 1 }, gamma = 2 },
  layers = times(3, layer { attention { heads = 2, rope = {} }, mlp { hidden = 10 } }),
}
