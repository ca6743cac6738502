-- Hyper-connections whose weights do not depend on the streams.
return model {
  name = "static_streams", vocab = 13, context = 14, dim = 12,
  norm = layernorm { eps = 1e-5 },
  residual = hyper { streams = 2, dynamic = false },
  layers = times(3, layer { attention { heads = 2, rope = {} }, mlp { hidden = 10 } }),
}
