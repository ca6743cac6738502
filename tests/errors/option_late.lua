local mine = mixer {
  open = function(_, e)
    local o = option { width = 3 }    --> option: expected it before the model is made, found it in what makes layers
    return e * o.width
  end,
  read = function(_, x) return x end,
  write = function(_, x, _, out) return x + out end,
  close = function(_, x) return x end,
}
return model { name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, residual = mine {},
  layers = { layer { mlp { hidden = 8 } } } }
