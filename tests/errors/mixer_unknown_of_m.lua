local mine = mixer {
  open = function(_, e) return e end,
  read = function(m, x)
    return x * m.vocabulary    --> m: expected one of buffer, context, dim, eps, keep, kept, layers, linear, nll, norm, note, options, param, route_penalty, rule, sources, sublayers and vocab, found 'vocabulary'; the nearest is 'vocab'
  end,
  write = function(_, x, _, out) return x + out end,
  close = function(_, x) return x end,
}
return model { name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, residual = mine {},
  layers = { layer { mlp { hidden = 8 } } } }
