local own = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    out = out * m:param("all", "a.1", { 32 }, 1)
    out = out + sum(m:param("all", "a.*", { 3, 32 }, 1), 1)  --> param: expected names of their own for 'all.a.*', found 'all.a.1', which is another's too
    return { h = state.h + out }
  end,
  close = function(m, state) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm { eps = 1e-6 }, residual = own {},
  layers = times(2, layer { attention { heads = 4 } }),
}
