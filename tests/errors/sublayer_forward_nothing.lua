local mine = sublayer {
  forward = function(m, site, x) m:linear(site, "w", x, m.dim) end,    --> sublayer_forward_nothing: expected forward to return a tensor [tokens,32], found nothing at layers.0.sublayer_forward_nothing
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  layers = times(2, layer { mine {} }),
}
