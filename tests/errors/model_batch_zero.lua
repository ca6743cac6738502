return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, train = { batch = 0 }    --> model.train: expected batch to be an integer from 1 to 2147483647, found the number 0
}
