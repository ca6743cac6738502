return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    mlp { hidden = 8, activation = 'geglu' }          --> mlp: expected activation to be 'swiglu', 'gelu', 'gelu_tanh', 'relu', 'relu2' or 'silu', found the string 'geglu'
  } },
}
