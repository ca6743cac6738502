local mine = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return slice(state.h, 1, 1, 8) end,    --> mixer_read_shape: expected read to return a tensor [tokens,32], found [tokens,8]
  write = function(m, state, site, out) return { h = state.h + out } end,
  close = function(m, state, site) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  residual = mine {}, layers = times(2, layer { mlp { hidden = 8 } }),
}
