return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, residual = "standard"    --> model: expected residual to be a mixer such as standard {}, found the string 'standard'
}
