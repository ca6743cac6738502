local mine = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out) return { h = state.h + out } end,
  close = function(m, state, site) return state.h, state.h end,    --> mixer_close_loss: expected the loss that close returns second to be a number or [tokens], found [tokens,32]
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  residual = mine {}, layers = times(2, layer { mlp { hidden = 8 } }),
}
