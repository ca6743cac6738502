return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    mlp { hidden = 2 ^ 31 - 1, name = 'a.b' }          --> mlp: expected name to be a name of at most 64 letters, digits and '_', found the string 'a.b'
  } },
}
