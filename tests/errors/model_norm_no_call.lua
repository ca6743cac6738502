return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm, layers = { layer { mlp { hidden = 8 } } }    --> model: expected norm to be a norm such as rmsnorm {}, found a constructor without its { ... }
}
