return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4, softcap = 0 }          --> attention: expected softcap to be a number greater than 0, found the number 0
  } },
}
