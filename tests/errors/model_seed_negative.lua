return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, train = { seed = -1 }    --> model.train: expected seed to be an integer of at least 0, found the number -1
}
