return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    attention { heads = 4, rope = { theta = 1 }, name = 'b' }          --> attention.rope: expected theta to be a number greater than 1, found the number 1
  } },
}
