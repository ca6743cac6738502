return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = drr { streams = 4 },          --> drr: expected fields out of block_layers, causal, chunk, heads, hidden_mult, init, query, summary_tokens and window, found 'streams'
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
