-- Attention over blocks of uneven length, with heads, inputs as queries and a window.
return model {
  name = "depth_reads", vocab = 13, context = 12, dim = 12,
  norm = rmsnorm { eps = 1e-6 },
  residual = attnres { block_size = 2, heads = 3, query = "input", window = 2 },
  layers = times(3, layer { attention { heads = 2, rope = {} }, mlp { hidden = 10 } }),
}
