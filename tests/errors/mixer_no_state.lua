local mine = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out) end,    --> mixer_no_state: expected write to return a state, found nothing
  close = function(m, state, site) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  residual = mine {}, layers = times(2, layer { mlp { hidden = 8 } }),
}
