local mine = mixer {
  open = function(_, e) return e end,
  read = function(_, x)
    if x > 0 then return x end    --> expected numbers to compare, found a tensor; of those max(a, b), min(a, b) and greater(a, b) are tensors
    return -x
  end,
  write = function(_, x, _, out) return x + out end,
  close = function(_, x) return x end,
}
return model { name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, residual = mine {},
  layers = { layer { mlp { hidden = 8 } } } }
