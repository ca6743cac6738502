return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, train = { optimiser = adamw {} }    --> model.train: expected fields out of batch, freeze, groups, optimizer, schedule and seed, found 'optimiser'; did you mean 'optimizer'?
}
