return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { attention { heads = 2, name = "near" }, attention { heads = 2, name = "far" }, route =
    dtr {} } },          --> dtr: expected a layer with one sublayer 'attention', which it routes, found several in layers.0, which has 'near' and 'far'
}
