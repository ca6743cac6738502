local mine = sublayer {
  forward = function(m, site, x) return x * shift(m:param(site, "a", { 8 }, "zeros"), 1) end,    --> shift: expected an operand that fits (x must have a row for each token, not [8]), found [8]
}
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, layers = { layer { mine {} } },
}
