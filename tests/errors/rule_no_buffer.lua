local own = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local p = m:param(site, "p", { 32 }, 1)
    m:rule(p, token_sum(out), function(old, s) return old + s end)  --> rule: expected a buffer, what m:buffer() returned, as its first argument
    out = out * p
    return { h = state.h + out }
  end,
  close = function(m, state) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm { eps = 1e-6 }, residual = own {},
  layers = times(2, layer { attention { heads = 4 } }),
}
