return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    mlp {}          --> mlp: expected the field 'hidden', an integer from 1 to 2147483647, found none
  } },
}
