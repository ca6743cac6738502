local mine = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out) return { h = state.h + out * m:param(site, 'a', { 2 ^ 40, 2 ^ 40 }, 0) } end,    --> param: expected fewer than 2^48 elements in 'layers.0.mlp.residual.a', found more
  close = function(m, state, site) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  residual = mine {}, layers = times(2, layer { mlp { hidden = 8 } }),
}
