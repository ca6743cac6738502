local mine = sublayer {
  forward = function(m, site, x) return x * conv(m:param(site, "a", { 6 }, "zeros"), x) end,    --> conv: expected operands that fit (x must have a row for each token, not [6]), found [6] (tests/errors/op_conv_uniform.lua:2) and [tokens,6] (tests/errors/op_conv_uniform.lua:5)
}
return model {
  name = "m", vocab = 16, context = 8, dim = 6, norm = rmsnorm {}, layers = { layer { mine {} } },
}
