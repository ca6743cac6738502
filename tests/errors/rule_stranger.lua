local own = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local b, p = m:buffer(site, "a", { 32 }, 1), m:param(site, "p", { 32 }, 1)
    m:rule(b, token_sum(out), function(old, s) return p * old + s end)  --> rule: expected a new value made of 'layers.0.attention.residual.a' and its statistic, found layers.0.attention.residual.p in it
    out = out * b * p
    return { h = state.h + out }
  end,
  close = function(m, state) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm { eps = 1e-6 }, residual = own {},
  layers = times(2, layer { attention { heads = 4 } }),
}
