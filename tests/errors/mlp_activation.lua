return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    mlp { hidden = 8, activation = 'maxout' }          --> mlp: expected activation to be 'swiglu', 'geglu', 'geglu_tanh', 'reglu', 'gelu', 'gelu_tanh', 'relu', 'relu2' or 'silu', found the string 'maxout'
  } },
}
