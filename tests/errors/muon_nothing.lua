return model {    --> muon: expected a matrix to train, found none
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } },
  train = { optimizer = muon { except = { "*" } } },
}
