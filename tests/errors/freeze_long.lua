return model {    --> expected a pattern of at most 256 bytes, none of them 0, found one of 257
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } },
  train = { freeze = { string.rep("a", 257) } },
}
