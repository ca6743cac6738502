local own = route { run = function(r, site, x, body) return body(x) end }
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, residual = haares { blocks = 1 },
  layers = { layer { mlp { hidden = 8 }, route =
    own {} } },          --> route: expected a mixer of one stream such as standard, found haares
}
