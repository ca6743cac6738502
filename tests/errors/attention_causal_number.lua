return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    attention { heads = 4, causal = 1, name = 'b' }          --> attention: expected causal to be true or false, found the number 1
  } },
}
