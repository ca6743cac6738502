local mine = sublayer {
  forward = function(m, site, x) return slice(x, 1, 1, 8) end,    --> sublayer_forward_shape: expected forward to return a tensor [tokens,32], found [tokens,8] at layers.0.sublayer_forward_shape
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  layers = times(2, layer { mine {} }),
}
