local own = sublayer {
  forward = function(m, site, x)
    return cumsum(x, 2)    --> cumsum: expected an axis of 1, found the number 2
  end,
}
return model {
  name = "a", vocab = 9, context = 8, dim = 16, norm = rmsnorm {},
  layers = { layer { own { name = "own" } } },
}
