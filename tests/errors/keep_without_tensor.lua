local own = sublayer {
  forward = function(m, site, x)
    m:keep("v", 3)    --> keep: expected a tensor second, found the number 3
    return x
  end,
}
return model {
  name = "a", vocab = 9, context = 8, dim = 16, norm = rmsnorm {},
  layers = { layer { own { name = "own" } } },
}
