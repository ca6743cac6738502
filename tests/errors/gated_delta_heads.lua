return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer { gated_delta { heads = 4, value_heads = 6 } } },    --> gated_delta: expected heads = 4 to divide value_heads, found 6
}
