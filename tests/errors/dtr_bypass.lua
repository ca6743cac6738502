return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { kda { heads = 2 }, mlp { hidden = 8 }, route =
    dtr { bypass = "vo" } } },          --> dtr: expected bypass = 'none', or 'auto', which is 'vo' where a sublayer passes values on as attention does, found 'vo' at layers.0.attention
}
