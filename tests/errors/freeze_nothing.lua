return model {    --> train.freeze: expected patterns that match a parameter's name, found 'layers.0.mlp.gat.weight', which matches none; did you mean 'layers.0.mlp.gate.weight'?
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } },
  train = { freeze = { "layers.0.mlp.gat.weight" } },
}
