return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, train = { optimizer = constant {} }    --> model.train: expected optimizer to be an optimizer such as adamw { lr = 3e-4 }, found a schedule
}
