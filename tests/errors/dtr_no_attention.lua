return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route =
    dtr {} } },          --> dtr: expected a layer with one sublayer 'attention', which it routes, found none in layers.0
}
