return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    mlp { hidden = 8, activation = 'relu', limit = 2 }          --> mlp: expected a limit with a gated activation only, found 'relu'
  } },
}
