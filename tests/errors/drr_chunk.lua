return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = drr { heads = 4, chunk = 8 },          --> drr: expected a chunk, the tokens of a summary, with causal = true and only then, found 8 with causal = false
  layers = { layer {
    attention { heads = 4, causal = false }, mlp { hidden = 48 },
  } },
}
