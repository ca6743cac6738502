local mine = mixer {
  open = function(_, e) return e end,
  read = function(_, x)
    return math.sqrt(x)    --> sqrt: argument 1: expected number, found tensor; that of tensors is sqrt, without 'math.'
  end,
  write = function(_, x, _, out) return x + out end,
  close = function(_, x) return x end,
}
return model { name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, residual = mine {},
  layers = { layer { mlp { hidden = 8 } } } }
