return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4, rope = { dims = 3 } }          --> attention: expected an even rope.dims with rope, found 3
  } },
}
