-- Streams mixed by permutations, three of them, of an odd width.
return model {
  name = "lite", vocab = 17, context = 12, dim = 15,
  norm = rmsnorm { eps = 1e-5 },
  residual = mhc { streams = 3, lite = true },
  layers = times(3, layer { attention { heads = 3 }, mlp { hidden = 14, activation = "gelu", bias = true } }),
}
