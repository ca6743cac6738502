return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, route_penalty = math.huge    --> model: expected route_penalty to be a number of at least 0, found the number inf
}
