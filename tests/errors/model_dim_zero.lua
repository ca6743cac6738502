return model {
  name = "m", vocab = 256, context = 64, dim = 0, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }    --> model: expected dim to be an integer from 1 to 2147483647, found the number 0
}
