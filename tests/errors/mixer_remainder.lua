local mine = mixer {
  open = function(_, e) return e end,
  read = function(_, x)
    return x * (position { number = true } % 2)    --> expected +, -, *, / or ^ with tensors, found another operator; what comes again every n tokens is made of wave({ 2 * math.pi / n })
  end,
  write = function(_, x, _, out) return x + out end,
  close = function(_, x) return x end,
}
return model { name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, residual = mine {},
  layers = { layer { mlp { hidden = 8 } } } }
