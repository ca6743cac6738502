local mine = sublayer {
  forward = function(m, site, x) return x, x end,    --> sublayer_loss: expected the loss that forward returns second to be a number or [tokens], found [tokens,32]
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  layers = times(2, layer { mine {} }),
}
