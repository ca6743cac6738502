local own = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    out = out * m:param(site, "a*", { 32 }, 1)  --> expected a parameter's name of at most 200 letters, digits, '_' and '.', found 'layers.0.attention.residual.a*'
    return { h = state.h + out }
  end,
  close = function(m, state) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm { eps = 1e-6 }, residual = own {},
  layers = times(2, layer { attention { heads = 4 } }),
}
