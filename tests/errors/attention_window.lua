return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4, window = 0 }          --> attention: expected window to be an integer from 1 to 1048576, found the number 0
  } },
}
