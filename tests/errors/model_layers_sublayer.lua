return model {          --> model: expected layer { ... } or a list of those, found a sublayer
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { mlp { hidden = 8 } }
}
