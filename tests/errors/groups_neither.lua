return model {    --> train.groups: expected lr or weight_decay in group 1, found neither
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } },
  train = { groups = { { match = { "embed.*" } } } },
}
