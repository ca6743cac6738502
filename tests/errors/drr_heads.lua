return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = drr { heads = 3, causal = true, chunk = 8 },          --> drr: expected heads to divide dim = 32, found 3
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
