-- Depth routing that sees no later token: two remembered layers, two summaries of chunks.
return model {
  name = "chunks", vocab = 13, context = 14, dim = 12,
  norm = rmsnorm { eps = 1e-6 },
  residual = drr { heads = 3, window = 2, block_layers = 2, hidden_mult = 2, causal = true, chunk = 3 },
  layers = times(5, layer { attention { heads = 2, rope = {} }, mlp { hidden = 10 } }),
}
