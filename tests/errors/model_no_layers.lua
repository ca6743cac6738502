return model {          --> model: expected at least one layer, found none
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = {}
}
