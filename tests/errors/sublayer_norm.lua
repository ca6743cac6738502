local mine = sublayer {
  forward = function(m, site, x) return m:norm("n") end,    --> norm: expected a tensor second, found nothing
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  layers = times(2, layer { mine {} }),
}
