return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4, window = 8, causal = false }          --> attention: expected no window with causal = false, found 8
  } },
}
