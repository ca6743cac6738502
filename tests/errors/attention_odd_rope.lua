return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    attention { heads = 4, head_dim = 7, rope = {}, name = 'b' }          --> attention: expected an even head_dim with rope, found 7
  } },
}
