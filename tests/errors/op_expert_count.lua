local own = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, state, site) return state.h end,
  write = function(m, state, site, out)
    local w = m:param(site, "experts.*.w", { 3, 32, 32 }, normal(0.02))
    out = sum(expert_linear(out, w, chosen(out, 2)), 1)  --> expert_linear: expected operands that fit (w must have a matrix for each of 32 experts, not be [3,32,32]), found [tokens,32] (tests/errors/op_expert_count.lua:13), [3,32,32] (tests/errors/op_expert_count.lua:5) and int32[tokens,2] (tests/errors/op_expert_count.lua:6), ...
    return { h = state.h + out }
  end,
  close = function(m, state) return state.h end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm { eps = 1e-6 }, residual = own {},
  layers = times(2, layer { attention { heads = 4 } }),
}
