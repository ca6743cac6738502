return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4, rope = { dims = 10 } }          --> attention: expected rope.dims to be at most the head's 8 channels, found 10
  } },
}
