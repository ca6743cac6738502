return model {          --> model: expected the field 'norm', a norm such as rmsnorm {}, found none
  name = "m", vocab = 256, context = 64, dim = 32, layers = { layer { mlp { hidden = 8 } } }
}
