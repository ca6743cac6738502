-- Depth routing with a query a layer, and more summary positions than tokens.
return model {
  name = "pools", vocab = 13, context = 14, dim = 12,
  norm = layernorm { eps = 1e-5 },
  residual = drr { heads = 2, window = 3, block_layers = 1, summary_tokens = 17, query = "learned" },
  layers = times(4, layer { attention { heads = 2, rope = {}, causal = false }, mlp { hidden = 10 } }),
}
