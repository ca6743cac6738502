return model {    --> train.freeze: expected at least one parameter that is trained, found all of them frozen
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } },
  train = { freeze = { "*" } },
}
