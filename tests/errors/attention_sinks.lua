return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4, sinks = 1 }          --> attention: expected sinks to be true or false, found the number 1
  } },
}
