local mine = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out) return { h = state.h + out * m:param('shared', 'a', { 1 + site.index * 31 }, 0) } end,    --> param: expected 'shared.a' with the shape [1] that it got at tests/errors/mixer_param_shape_twice.lua:4, found [32]
  close = function(m, state, site) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  residual = mine {}, layers = times(2, layer { mlp { hidden = 8 } }),
}
