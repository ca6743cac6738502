return model {    --> adamw: expected an optimizer with lr greater than 0 where parameters have rates of their own, found 0
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } },
  train = { optimizer = adamw { lr = 0 }, groups = { { match = { "embed.*" }, lr = 1 } } },
}
