return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    attention { heads = 4, rope = { yarn = { original = 64 } }, name = 'b' }          --> attention.rope.yarn: expected the field 'factor', a number of at least 1, found none
  } },
}
