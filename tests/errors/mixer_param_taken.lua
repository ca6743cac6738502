local mine = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out) return { h = state.h + out * m:param('optimizer', 'm', { 1 }, 0) } end,    --> expected a parameter's name of at most 200 letters, digits, '_' and '.', found 'optimizer.m'
  close = function(m, state, site) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  residual = mine {}, layers = times(2, layer { mlp { hidden = 8 } }),
}
