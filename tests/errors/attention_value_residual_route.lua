return model {
  name = "a", vocab = 9, context = 8, dim = 16, norm = rmsnorm {},
  layers = { layer { attention { heads = 2, value_residual = true }, mlp { hidden = 8 }, route = dtr {} } },    --> attention: expected no value_residual under a route, found one
}
