local own = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    out = out * m:param(site, "a", { 32 }, 1)
    out = out + m:buffer(site, "a", { 32 }, 1)  --> buffer: expected 'layers.0.attention.residual.a' to be a parameter as at tests/errors/buffer_and_param.lua:5, found a buffer
    return { h = state.h + out }
  end,
  close = function(m, state) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm { eps = 1e-6 }, residual = own {},
  layers = times(2, layer { attention { heads = 4 } }),
}
