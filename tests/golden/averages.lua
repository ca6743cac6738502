-- Weighted averages of whole layers, every second layer, over every second one.
return model {
  name = "averages", vocab = 13, context = 12, dim = 12,
  norm = rmsnorm { eps = 1e-6 },
  residual = denseformer { period = 2, dilation = 2 },
  layers = times(5, layer { attention { heads = 2, rope = {} }, mlp { hidden = 6 } }),
}
