return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = drr { heads = 4 },          --> drr: expected causal = true, or sublayers with causal = false, found causal = false with the causal layers.0.attention
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
