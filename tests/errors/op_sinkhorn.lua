local own = mixer {
  open = function(m, e) return e end,
  read = function(m, e, site) return e, e end,
  write = function(m, e, site, out)
    return e + out * sum(sum(sinkhorn(reshape(exp(e), { 2, 4 }), 0), 2), 1) end,    --> sinkhorn: expected an operand that fits (there can be from 1 to 100000 iterations, not 0)
  close = function(m, e) return e end,
}
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, residual = own {},
  layers = { layer { mlp { hidden = 8 } } },
}
