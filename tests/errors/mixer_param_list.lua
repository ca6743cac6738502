local mine = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out) return { h = state.h + out * m:param(site, 'a', { 2 }, { 1, 2, 3 }) } end,    --> param: expected as many initial values as elements, 2, found 3
  close = function(m, state, site) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  residual = mine {}, layers = times(2, layer { mlp { hidden = 8 } }),
}
