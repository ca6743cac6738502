-- the line of the mixer is blamed, where a norm that is made is called last of all, too
local mine = mixer {
  open = function(_, e) return e end,
  read = function(_, x)
    return rmsnorm { eps = 1e-6 }(x)    --> expected a constructor before { ... }, found a norm that is made already; m:norm(site, x) norms in a mixer
  end,
  write = function(_, x, _, out) return x + out end,
  close = function(_, x) return x end,
}
return model { name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, residual = mine {},
  layers = { layer { mlp { hidden = 8 } } } }
