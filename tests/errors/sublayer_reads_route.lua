return model {
  name = "a", vocab = 9, context = 8, dim = 16, norm = rmsnorm {},
  layers = { layer { attention { heads = 2, reads = "each" }, mlp { hidden = 8 }, route = dtr {} } },    --> attention: expected one read under a route, found several
}
