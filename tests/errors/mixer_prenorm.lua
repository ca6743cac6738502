local plain = mixer {
  prenorm = function(m, site) return site.index end,    --> mixer_prenorm: expected prenorm to return true or false, found the number 0 at layers.0.mlp
  open = function(m, h) return h end,
  read = function(m, h, site) return h end,
  write = function(m, h, site, out) return h + out end,
  close = function(m, h) return h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, residual = plain {},
  layers = times(2, layer { mlp { hidden = 32 } }),
}
