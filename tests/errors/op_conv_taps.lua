local mine = sublayer {
  forward = function(m, site, x) return conv(x, m:param(site, "taps", { 3 }, "zeros")) end,    --> conv: expected operands that fit (taps must be [channels,n], or that for each token, not [3]), found [tokens,6] (tests/errors/op_conv_taps.lua:5) and [3] (tests/errors/op_conv_taps.lua:2)
}
return model {
  name = "m", vocab = 16, context = 8, dim = 6, norm = rmsnorm {}, layers = { layer { mine {} } },
}
