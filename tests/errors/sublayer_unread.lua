local mine = sublayer {
  forward = function(m, site, x)
    m:param(site, "idle", { 3 }, 0)    --> param: expected a parameter that the model depends on, found 'layers.0.sublayer_unread.idle', which nothing reads
    return x
  end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  layers = times(2, layer { mine {} }),
}
