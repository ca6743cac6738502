local mine = sublayer {
  forward = function(m, site, x)
    return m:linear(site, "w", x, 0)    --> linear: expected sizes of at least 1 for 'layers.0.sublayer_tail.w.weight', found 0
  end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  layers = times(2, layer { mine {} }),
}
