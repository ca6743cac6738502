return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    mlp { 64 }          --> mlp: expected named fields (activation, bias, dropout, hidden, limit, multiplier, name and norm), found the number 64 without a name
  } },
}
