return model {
  name = "m", vocab = 256, context = 0 / 0, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }    --> model: expected context to be an integer from 1 to 2147483647, found no number (NaN)
}
