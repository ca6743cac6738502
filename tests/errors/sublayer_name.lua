local mine = sublayer {    --> sublayer: expected options other than name, dropout, norm and multiplier, which every sublayer has, found 'dropout'
  options = { dropout = 0.1 }, forward = function(m, site, x) return x end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  layers = times(2, layer { mine {} }),
}
