return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = drr { heads = 4, causal = true },          --> drr: expected a chunk, the tokens of a summary, with causal = true and only then, found none with causal = true
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
