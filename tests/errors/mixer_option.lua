local mine = mixer { options = { gain = 1 },
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out) return { h = state.h + out } end,
  close = function(m, state, site) return state.h end,
}
local wrong = mine { gian = 2 }    --> mixer_option: expected fields out of gain, found 'gian'; did you mean 'gain'?
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  residual = mine {}, layers = times(2, layer { mlp { hidden = 8 } }),
}
