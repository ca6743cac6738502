local mine = sublayer {
  forward = function(m, site, x) return conv(x, m:param(site, "taps", { 4, 3 }, "zeros")) end,    --> conv: expected operands that fit (6 channels cannot share the taps of 4 evenly), found [tokens,6] (tests/errors/op_conv.lua:5) and [4,3] (tests/errors/op_conv.lua:2)
}
return model {
  name = "m", vocab = 16, context = 8, dim = 6, norm = rmsnorm {}, layers = { layer { mine {} } },
}
