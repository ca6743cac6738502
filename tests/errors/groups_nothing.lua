return model {    --> train.groups: expected patterns that match a parameter's name, found 'head.*', which matches none; the nearest is 'embed.weight'
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } },
  train = { groups = { { match = { "head.*" }, lr = 1 } } },
}
