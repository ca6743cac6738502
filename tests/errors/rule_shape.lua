local own = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local b = m:buffer(site, "a", { 32 }, 1)
    m:rule(b, token_sum(sum(out, 1)), function(old, s) return old + s end)  --> rule: expected a statistic of the shape [32] of 'layers.0.attention.residual.a', found []
    out = out * b
    return { h = state.h + out }
  end,
  close = function(m, state) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm { eps = 1e-6 }, residual = own {},
  layers = times(2, layer { attention { heads = 4 } }),
}
