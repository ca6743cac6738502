return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, residual = hyper { streams = 2 },
  layers = { layer { mlp { hidden = 8 }, route =
    mod { capacity = 0.5 } } },          --> route: expected a mixer of one stream such as standard, found hyper
}
