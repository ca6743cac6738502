return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    attention { heads = 4, rope = 10000, name = 'b' }          --> attention: expected rope to be a table, found the number 10000
  } },
}
