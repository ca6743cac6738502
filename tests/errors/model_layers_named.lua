return model {          --> model: expected a list of layers, found the field 'first'
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { first = layer { mlp { hidden = 8 } } }
}
