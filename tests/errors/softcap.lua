local own = sublayer {
  forward = function(m, site, x)
    return softcap(x, 0)    --> softcap: expected a cap greater than 0, found the number 0
  end,
}
return model {
  name = "a", vocab = 9, context = 8, dim = 16, norm = rmsnorm {},
  layers = { layer { own { name = "own" } } },
}
