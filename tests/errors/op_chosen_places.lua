local own = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    out = out * reshape(sum(pick(out, out), 1), { 1 })  --> pick: expected operands that fit (places must be what chosen() returned, not [tokens,32]), found [tokens,32] (tests/errors/op_chosen_places.lua:12) and [tokens,32] (tests/errors/op_chosen_places.lua:12)
    return { h = state.h + out }
  end,
  close = function(m, state) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm { eps = 1e-6 }, residual = own {},
  layers = times(2, layer { attention { heads = 4 } }),
}
