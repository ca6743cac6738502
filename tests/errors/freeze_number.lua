return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } },
  train = { freeze = { 3 } },    --> model.train: expected freeze to be a list of values, each a string, found a table
}
